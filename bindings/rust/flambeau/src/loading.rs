//! Data sets of the program's own, and the loader as an iterator over one epoch's batches.

use std::{mem::size_of, os::raw::c_void, slice};

use crate::{
    access::{reading, unlocked},
    call::{check, list, made, null_mut, pointers, Borrow},
    callback::{drop_user, guarded, into_user, user_of},
    sys, Dataset, Loader, Result, Tensor,
};

/// A data set in Rust. Batches are fetched on the loader's threads.
///
/// ```
/// use flambeau::{data::{Dataset, Loader, LoaderOptions, Samples}, Error, Result, Status, Tensor};
///
/// struct Lines(Vec<String>);
///
/// impl Samples for Lines {
///     fn size(&self) -> usize {
///         self.0.len()
///     }
///
///     fn fetch(&self, indices: &[i64]) -> Result<Vec<Tensor>> {
///         let parsed = indices.iter().map(|&i| self.0[i as usize].parse::<f32>());
///         let values: std::result::Result<Vec<f32>, _> = parsed.collect();
///         Ok(vec![Tensor::from(values.map_err(Error::other)?)])
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let lines = Lines(["1.5", "2.5", "three"].map(String::from).to_vec());
/// let options = LoaderOptions::default().batch_size(2).num_workers(1);
/// let mut loader = Loader::new_with(&Dataset::new(lines)?, options)?;
/// assert_eq!(loader.next_batch()?.unwrap()[0].to_vec::<f32>()?, [1.5, 2.5]);
/// assert_eq!(loader.next_batch().unwrap_err().status(), Status::Callback);
/// # Ok(())
/// # }
/// ```
pub trait Samples: Send + Sync + 'static {
    /// How many samples there are.
    fn size(&self) -> usize;

    /// The samples of one batch, collated: each tensor holds one entry per index along dimension 0.
    ///
    /// # Errors
    ///
    /// Any; the loader's caller gets it in the batch's place.
    fn fetch(&self, indices: &[i64]) -> Result<Vec<Tensor>>;
}

struct Fetch<F>(usize, F);

impl<F: Fn(&[i64]) -> Result<Vec<Tensor>> + Send + Sync + 'static> Samples for Fetch<F> {
    fn size(&self) -> usize {
        self.0
    }

    fn fetch(&self, indices: &[i64]) -> Result<Vec<Tensor>> {
        (self.1)(indices)
    }
}

unsafe extern "C" fn size<S: Samples>(user: *mut c_void) -> i64 {
    let mut n = -1;
    guarded(|| {
        // SAFETY: `user` is what `Dataset::new` boxed.
        n = unsafe { user_of::<S>(user) }.size() as i64;
        Ok(())
    });
    n
}

/// A batch travels as an item of ours: a boxed vector of tensors.
unsafe extern "C" fn fetch<S: Samples>(
    user: *mut c_void,
    indices: *const i64,
    n: usize,
    _: *mut *mut sys::flam_tensor_list,
    out_item: *mut *mut c_void,
) -> sys::flam_status {
    guarded(|| {
        // SAFETY: C lends `n` numbers for the call, at no address where there are none.
        let indices = if n == 0 { &[] } else { unsafe { slice::from_raw_parts(indices, n) } };
        // SAFETY: `user` is what `Dataset::new` boxed.
        let batch = unsafe { user_of::<S>(user) }.fetch(indices)?;
        // SAFETY: C's place for one item, which `drop_item` or `next_batch` takes back.
        unsafe { *out_item = into_user(batch) };
        Ok(())
    })
}

impl Dataset {
    /// A data set of tensors: sample i is the i-th entry of each along dimension 0. It shares their
    /// memory.
    ///
    /// # Errors
    ///
    /// [`Status::Shape`](crate::Status::Shape) where the sizes of dimension 0 differ;
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) for an empty list.
    pub fn from_tensors(tensors: &[impl Borrow<Tensor>]) -> Result<Dataset> {
        crate::open_library()?;
        let raw = pointers(tensors);
        let access = reading();
        // SAFETY: `raw` has its own length, and `tensors` keeps the handles in it. This data set
        // only checks them.
        drop(unsafe { made::<Dataset>(sys::flam_dataset_from_tensors(raw.as_ptr(), raw.len()))? });
        drop(access);
        Dataset::new(Rows(tensors.iter().map(|t| t.borrow().clone()).collect()))
    }

    /// A data set of the program's own.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn new<S: Samples>(samples: S) -> Result<Dataset> {
        crate::open_library()?;
        let vtable = sys::flam_dataset_vtable {
            struct_size: size_of::<sys::flam_dataset_vtable>(),
            user: into_user(samples),
            size: Some(size::<S>),
            fetch: Some(fetch::<S>),
            drop_item: Some(drop_user::<Vec<Tensor>>),
            drop: Some(drop_user::<S>),
        };
        // SAFETY: the functions are those of `S`, whose box `user` is; the table is copied, and the
        // library drops `user` once, also where this fails.
        unsafe { made(sys::flam_dataset_new(&vtable)) }
    }

    /// A data set of `size` samples whose batches a closure fetches.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn from_fn(
        size: usize,
        fetch: impl Fn(&[i64]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    ) -> Result<Dataset> {
        Dataset::new(Fetch(size, fetch))
    }
}

/// Rows of tensors. The engine's own data set of tensors would read them on its threads, outside of
/// the lock that keeps writes apart.
struct Rows(Vec<Tensor>);

impl Samples for Rows {
    fn size(&self) -> usize {
        self.0[0].size(0) as usize
    }

    fn fetch(&self, indices: &[i64]) -> Result<Vec<Tensor>> {
        let at = Tensor::from(indices);
        self.0.iter().map(|t| t.index_select(0, &at.to_device(t.device())?)).collect()
    }
}

impl Loader {
    /// The next batch of the running epoch; none at its end, after which the next epoch begins.
    ///
    /// # Errors
    ///
    /// What the data set failed with; the batch counts as delivered.
    pub fn next_batch(&mut self) -> Result<Option<Vec<Tensor>>> {
        let (mut batch, mut item) = (null_mut(), null_mut());
        let _access = unlocked();
        // SAFETY: `&mut self` is the loader's only handle, so that no other thread is in it; both
        // results are the caller's, and an item is what `fetch` boxed, since every data set of the
        // crate's is made by `Dataset::new`.
        unsafe {
            check(sys::flam_loader_next(self.raw(), &mut batch, &mut item))?;
            if !item.is_null() {
                return Ok(Some(*Box::from_raw(item as *mut Vec<Tensor>)));
            }
            if batch.is_null() {
                return Ok(None);
            }
            list(batch).map(Some)
        }
    }

    /// What is left of the running epoch.
    pub fn batches(&mut self) -> Batches<'_> {
        Batches { loader: self, done: false }
    }
}

/// The batches of one epoch.
#[derive(Debug)]
pub struct Batches<'a> {
    loader: &'a mut Loader,
    done: bool,
}

impl Iterator for Batches<'_> {
    type Item = Result<Vec<Tensor>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.loader.next_batch().transpose();
        self.done = next.is_none();
        next
    }
}

impl<'a> IntoIterator for &'a mut Loader {
    type Item = Result<Vec<Tensor>>;
    type IntoIter = Batches<'a>;

    fn into_iter(self) -> Batches<'a> {
        self.batches()
    }
}
