//! Loaders as iterators, over tensors and over data sets of the program's own.

mod place;

use std::sync::{
    atomic::{AtomicUsize, Ordering::SeqCst},
    Arc,
};

use flambeau::{
    arange,
    data::{Dataset, Loader, LoaderOptions, Samples},
    Error, Result, Tensor,
};

fn numbers(loader: &mut Loader) -> Vec<i64> {
    loader.batches().flat_map(|batch| batch.unwrap()[0].to_vec::<i64>().unwrap()).collect()
}

#[test]
fn an_epoch_is_an_iterator() {
    let x = arange(0, 10, 1).unwrap();
    let dataset = Dataset::from_tensors(&[&x, &x]).unwrap();
    assert_eq!(dataset.size(), 10);
    let options = LoaderOptions::default().batch_size(4);
    let mut loader = Loader::new_with(&dataset, options).unwrap();
    assert_eq!(loader.size(), 3);
    let mut sizes = Vec::new();
    for batch in &mut loader {
        let batch = batch.unwrap();
        assert_eq!(batch.len(), 2);
        sizes.push(batch[1].size(0));
    }
    assert_eq!(sizes, [4, 4, 2]);
    assert_eq!(numbers(&mut loader), (0..10).collect::<Vec<_>>());
}

#[test]
fn the_order_depends_on_the_seed_and_not_on_the_workers() {
    let x = arange(0, 100, 1).unwrap();
    let dataset = Dataset::from_tensors(&[x]).unwrap();
    let order = |num_workers, seed| {
        let options = LoaderOptions::default()
            .batch_size(7)
            .shuffle(true)
            .num_workers(num_workers)
            .seed(seed);
        numbers(&mut Loader::new_with(&dataset, options).unwrap())
    };
    assert_eq!(order(0, 1), order(2, 1));
    assert_ne!(order(0, 1), order(0, 2));
    let mut all = order(0, 1);
    all.sort_unstable();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
}

struct Squares(Arc<AtomicUsize>);

impl Samples for Squares {
    fn size(&self) -> usize {
        6
    }

    fn fetch(&self, indices: &[i64]) -> Result<Vec<Tensor>> {
        if indices.contains(&4) {
            return Err(Error::other("sample 4 is bad"));
        }
        Ok(vec![Tensor::from(indices.iter().map(|i| i * i).collect::<Vec<i64>>())])
    }
}

impl Drop for Squares {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_data_set_of_the_programs_own_fails_batch_by_batch() {
    for num_workers in [0, 2] {
        let drops = Arc::new(AtomicUsize::new(0));
        let dataset = Dataset::new(Squares(drops.clone())).unwrap();
        let options = LoaderOptions::default().batch_size(2).num_workers(num_workers);
        let mut loader = Loader::new_with(&dataset, options).unwrap();
        drop(dataset);
        let batches: Vec<_> = loader.batches().collect();
        assert_eq!(batches.len(), 3);
        assert_eq!(batches[1].as_ref().unwrap()[0].to_vec::<i64>().unwrap(), [4, 9]);
        let source =
            std::error::Error::source(batches[2].as_ref().unwrap_err()).unwrap().to_string();
        assert_eq!(source, "sample 4 is bad");
        assert_eq!(drops.load(SeqCst), 0);
        drop(loader);
        assert_eq!(drops.load(SeqCst), 1);
    }
}

#[test]
fn a_panic_in_a_worker_is_the_batchs_error() {
    for num_workers in [0, 1] {
        let dataset = Dataset::from_fn(4, |_| panic!("in fetch")).unwrap();
        let options = LoaderOptions::default().num_workers(num_workers);
        let mut loader = Loader::new_with(&dataset, options).unwrap();
        let error = loader.batches().next().unwrap().unwrap_err();
        assert!(error.message().contains("in fetch"), "{}", error);
        let panic = error.take_panic().unwrap();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"in fetch"));
    }
}

#[test]
fn a_loader_stopped_in_an_epoch_frees_what_was_fetched_ahead() {
    let made = Arc::new(AtomicUsize::new(0));
    struct Item(Arc<AtomicUsize>);
    impl Drop for Item {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    let counter = made.clone();
    let dataset = Dataset::from_fn(100, move |indices| {
        counter.fetch_add(1, SeqCst);
        let _item = Item(counter.clone());
        Ok(vec![Tensor::from(indices)])
    })
    .unwrap();
    let options = LoaderOptions::default().num_workers(2);
    let mut loader = Loader::new_with(&dataset, options).unwrap();
    assert_eq!(loader.batches().next().unwrap().unwrap()[0].to_vec::<i64>().unwrap(), [0]);
    drop(loader);
    assert_eq!(made.load(SeqCst), 0);
}

#[test]
fn a_checkpoint_continues_where_it_stood() {
    let x = arange(0, 20, 1).unwrap();
    let dataset = Dataset::from_tensors(&[x]).unwrap();
    let options = LoaderOptions::default().batch_size(3).shuffle(true);
    let mut loader = Loader::new_with(&dataset, options.clone()).unwrap();
    loader.batches().take(2).for_each(drop);
    let (epoch, batch) = loader.position().unwrap();
    let rest = numbers(&mut loader);
    for num_workers in 0..3 {
        let options = options.clone().num_workers(num_workers);
        let mut other = Loader::new_with(&dataset, options).unwrap();
        other.seek_with(epoch, batch).unwrap();
        assert_eq!(numbers(&mut other), rest);
    }
}

#[test]
fn a_batch_that_takes_too_long_is_a_timeout() {
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let dataset = Dataset::from_fn(1, move |indices| {
        gate.lock().unwrap().recv().unwrap();
        Ok(vec![Tensor::from(indices)])
    })
    .unwrap();
    let options = LoaderOptions::default().num_workers(1).timeout(0.01);
    let mut loader = Loader::new_with(&dataset, options).unwrap();
    let problem = loader.next_batch().unwrap_err();
    assert!(problem.to_string().contains("DataLoader timed out after 0.01 seconds"));
    release.send(()).unwrap();
    loop {
        match loader.next_batch() {
            Ok(batch) => break assert_eq!(batch.unwrap()[0].to_vec::<i64>().unwrap(), [0]),
            Err(problem) => assert!(problem.to_string().contains("timed out")),
        }
    }
}
