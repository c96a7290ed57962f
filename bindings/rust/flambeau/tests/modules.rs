//! The tree of modules, state in files, hooks, and training with an optimizer.

mod place;

use std::sync::{
    atomic::{AtomicUsize, Ordering::SeqCst},
    Arc, Mutex,
};

use flambeau::{
    load, manual_seed, nn,
    optim::{AdamOptions, Optimizer, Scheduler, SgdOptions},
    options::{CloseOptions, CrossEntropyOptions, MaxPoolOptions},
    randn, save, zeros, Dtype, Error, Result, State, Status, Tensor,
};

struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    fn layer(inputs: i64, outputs: i64) -> Result<nn::Layer> {
        let weight = randn(&[outputs, inputs])?.mul(0.5)?;
        nn::Layer::new(Linear { weight, bias: flambeau::zeros(&[outputs])? })
    }
}

impl nn::Module for Linear {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.linear_with(&self.weight, Some(&self.bias))
    }

    fn parts(&self, parts: &mut nn::Parts<'_>) -> Result<()> {
        parts.parameter("weight", &self.weight)?;
        parts.parameter("bias", &self.bias)
    }
}

struct Net {
    first: nn::Layer,
    second: nn::Layer,
    seen: Tensor,
}

impl Net {
    fn layer() -> Result<nn::Layer> {
        let seen = flambeau::zeros(&[1])?;
        nn::Layer::new(Net { first: Linear::layer(2, 8)?, second: Linear::layer(8, 1)?, seen })
    }
}

impl nn::Module for Net {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        self.second.forward(&self.first.forward(input)?.tanh()?)
    }

    fn parts(&self, parts: &mut nn::Parts<'_>) -> Result<()> {
        parts.child("first", &self.first)?;
        parts.child("second", &self.second)?;
        parts.buffer("seen", &self.seen)
    }
}

fn names(state: &State) -> Vec<String> {
    state.entries().unwrap().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn parameters_join_the_tree() {
    let mut net = Net::layer().unwrap();
    assert_eq!(net.r#type(), "Net");
    let parameters = net.named_parameters().unwrap();
    assert_eq!(names(&parameters), ["first.weight", "first.bias", "second.weight", "second.bias"]);
    assert_eq!(net.numel(), 2 * 8 + 8 + 8 + 1);
    assert_eq!(names(&net.state_dict().unwrap()).len(), 5);
    assert!(net.parameter("first.bias").unwrap().requires_grad());
    assert!(net.format().starts_with("Net("), "{}", net.format());
    let error = net.parameter("first.wieght").unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    net.to_dtype(Dtype::F64).unwrap();
    let x = Tensor::from([[1.0f64, 2.0]]);
    assert_eq!(net.forward(&x).unwrap().dtype(), Dtype::F64);
    net.eval().unwrap();
    assert!(!net.child("first").unwrap().is_training());
    net.train().unwrap();
    assert!(net.child("first").unwrap().is_training());
    assert_eq!((net.to_string(), format!("{:?}", net)), (net.format(), net.format()));
    let optimizer = Optimizer::sgd(&net.parameters().unwrap()).unwrap();
    assert_eq!(optimizer.to_string(), "Optimizer (\nParameter Group 0\n    lr: 0.001\n)");
}

#[test]
fn state_goes_through_files() {
    let folder = std::env::temp_dir().join(format!("flambeau-rust-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let x = randn(&[3, 2]).unwrap();
    for file in ["net.safetensors", "net.pt"] {
        let path = folder.join(file);
        let path = path.to_str().unwrap();
        let (net, mut other) = (Net::layer().unwrap(), Net::layer().unwrap());
        save(&net.state_dict().unwrap(), path).unwrap();
        other.load_state_dict(&load(path).unwrap()).unwrap();
        let (a, b) = (net.forward(&x).unwrap(), other.forward(&x).unwrap());
        assert_eq!(a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap());
        let mut partial = State::new().unwrap();
        partial.set("first.weight", &net.parameter("first.weight").unwrap()).unwrap();
        let error = other.load_state_dict(&partial).unwrap_err();
        assert!(error.message().contains("second.bias"), "{}", error);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn train(mut optimizer: Optimizer, net: &nn::Layer) -> f32 {
    let x = randn(&[64, 2]).unwrap();
    let y = x.select(1, 0).unwrap().mul(x.select(1, 1).unwrap()).unwrap().unsqueeze(1).unwrap();
    let mut schedule = Scheduler::step_lr(&optimizer, 1000).unwrap();
    let mut last = f32::INFINITY;
    for _ in 0..200 {
        let loss = net.forward(&x).unwrap().mse_loss(&y).unwrap();
        optimizer.zero_grad().unwrap();
        loss.backward().unwrap();
        optimizer.step().unwrap();
        schedule.step().unwrap();
        last = loss.item().unwrap();
    }
    last
}

#[test]
fn optimizers_train() {
    manual_seed(1).unwrap();
    let net = Net::layer().unwrap();
    let options = AdamOptions::default().lr(0.05);
    let adam = Optimizer::adam_with(&net.parameters().unwrap(), options).unwrap();
    assert!(train(adam, &net) < 0.1);
    let net = Net::layer().unwrap();
    let options = SgdOptions::default().lr(0.1).momentum(0.9);
    let sgd = Optimizer::sgd_with(&net.parameters().unwrap(), options).unwrap();
    assert!(train(sgd, &net) < 0.2);
}

#[test]
fn hooks_see_and_replace() {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut double = nn::Layer::from_fn(|x| x.mul(2.0)).unwrap();
    let (counted, x) = (calls.clone(), Tensor::from([1.0f32]));
    let mut hook = double
        .register_forward_hook(move |input, output| {
            counted.fetch_add(1, SeqCst);
            output.add(input).map(Some)
        })
        .unwrap();
    double.register_forward_pre_hook(|input| input.add(1.0).map(Some)).unwrap();
    assert_eq!(double.forward(&x).unwrap().item::<f32>().unwrap(), 6.0);
    hook.remove();
    assert_eq!(double.forward(&x).unwrap().item::<f32>().unwrap(), 4.0);
    assert_eq!(calls.load(SeqCst), 1);
}

struct Broken(Arc<AtomicUsize>);

impl Drop for Broken {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl nn::Module for Broken {
    fn forward(&self, _: &Tensor) -> Result<Tensor> {
        Err(Error::other("the reason"))
    }

    fn parts(&self, parts: &mut nn::Parts<'_>) -> Result<()> {
        parts.parameter("no.dots", &Tensor::from([1.0f32]))
    }
}

#[test]
fn a_module_that_cannot_be_made_is_dropped_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let error = nn::Layer::new(Broken(drops.clone())).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert_eq!(drops.load(SeqCst), 1);
}

/// What a callback makes and stores is Rust's, as all of Rust's tensors are; C's would be released
/// at its return.
#[test]
fn a_forward_keeps_what_it_makes() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let store = kept.clone();
    let layer = nn::Layer::from_fn(move |x| {
        let y = x.add(1.0)?;
        store.lock().unwrap().push(y.clone());
        store.lock().unwrap().push(y.mul(2.0)?);
        y.neg()
    })
    .unwrap();
    for i in 0..3 {
        let y = layer.forward(&Tensor::from([i as f32])).unwrap();
        assert_eq!(y.item::<f32>().unwrap(), -1.0 - i as f32);
    }
    let seen: Vec<f32> = kept.lock().unwrap().iter().map(|t| t.item().unwrap()).collect();
    assert_eq!(seen, [1.0, 2.0, 2.0, 4.0, 3.0, 6.0]);
}

#[test]
fn an_error_in_a_nested_module_names_its_place() {
    let (first, second) = (nn::Layer::linear(3, 4).unwrap(), nn::Layer::linear(5, 6).unwrap());
    let net = nn::sequential([first, second]).unwrap();
    let error = net.forward(&zeros(&[2, 3]).unwrap()).unwrap_err();
    assert_eq!(error.status(), Status::Shape);
    assert!(error.message().contains("\"1\" (Linear)"), "{}", error);
}

#[test]
fn the_number_of_inputs_is_checked() {
    let layer = nn::Layer::from_fn(|x| x.exp()).unwrap();
    let two = [Tensor::from([1.0f32]), Tensor::from([1.0f32])];
    let error = layer.forward_all(&two).unwrap_err();
    assert!(error.message().contains("takes 1 input, not 2"), "{}", error);
}

#[test]
fn optional_inputs_are_left_out_by_place() {
    let mut net = nn::Layer::transformer(4, 2).unwrap();
    net.eval().unwrap();
    let (x, open) = (randn(&[3, 1, 4]).unwrap(), zeros(&[3, 3]).unwrap());
    let mask = Tensor::from([[0.0f32, 9.0, 9.0], [0.0, 0.0, 9.0], [0.0, 0.0, 0.0]]);
    let found = net.forward_given(&[Some(&x), Some(&x), None, Some(&mask)]).unwrap();
    let wanted = net.forward_all(&[&x, &x, &open, &mask]).unwrap();
    let near = CloseOptions::default().atol(1e-5);
    assert!(found.allclose_with(&wanted, near).unwrap());
    let error = net.forward_given(&[Some(&x), None]).unwrap_err();
    assert!(error.message().contains("Transformer: tgt is no tensor"), "{}", error);
}

#[test]
fn operations_are_layers() {
    let weight = Tensor::from([1.0f32, 3.0]);
    let options = CrossEntropyOptions::default().label_smoothing(0.1);
    let loss = nn::Layer::cross_entropy_loss_with(Some(&weight), options.clone()).unwrap();
    assert_eq!(names(&loss.state_dict().unwrap()), ["weight"]);
    let (x, target) = (randn(&[4, 2]).unwrap(), Tensor::from([0i64, 1, 1, 0]));
    let wanted = x.cross_entropy_with(&target, Some(&weight), options).unwrap();
    let found = loss.forward_all(&[&x, &target]).unwrap();
    assert_eq!(found.item::<f32>().unwrap(), wanted.item::<f32>().unwrap());
    let pool = MaxPoolOptions::default().padding([1]).ceil_mode(true);
    let layers = [
        nn::Layer::gelu().unwrap(),
        nn::Layer::max_pool2d_with(&[3], pool).unwrap(),
        nn::Layer::dropout_with(0.0).unwrap(),
    ];
    let net = nn::sequential(layers).unwrap();
    assert!(net.format().contains("stride=3, padding=1, dilation=1, ceil_mode=True"));
    assert_eq!(net.forward(&randn(&[1, 2, 6, 6]).unwrap()).unwrap().shape(), [1, 2, 3, 3]);
    let error = net.forward(&Tensor::from([1.0f32])).unwrap_err();
    assert!(error.to_string().contains("\"1\" (MaxPool2d)"), "{}", error);
    let error = nn::Layer::dropout_with(2.0).unwrap_err();
    assert!(error.message().contains("p must be in [0, 1], got 2"), "{}", error);
}
