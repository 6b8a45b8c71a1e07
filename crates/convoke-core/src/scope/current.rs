//! The current scope: that of the work which this thread polls or runs at the moment.

use std::{
    cell::RefCell,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use super::Scope;

thread_local! {
    static CURRENT: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

/// Makes a scope the current one by changing places with the one before, and changes them back, also where what ran in
/// between panics.
struct Entered<'a>(&'a mut Option<Scope>);

impl<'a> Entered<'a> {
    fn new(scope: &'a mut Option<Scope>) -> Self {
        CURRENT.with_borrow_mut(|current| mem::swap(current, scope));
        Self(scope)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        // Where the thread is being torn down, there is nothing to put back.
        let _ = CURRENT.try_with(|current| mem::swap(&mut *current.borrow_mut(), self.0));
    }
}

impl Scope {
    /// The scope of the work that this thread polls or runs at the moment.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }

    /// Calls a function with this scope as the current one.
    pub fn enter<T>(&self, run: impl FnOnce() -> T) -> T {
        let mut scope = Some(self.clone());
        let _entered = Entered::new(&mut scope);
        run()
    }

    /// A future that has this scope as the current one whenever it is polled, and when it is dropped.
    ///
    /// ```
    /// use convoke_core::Scope;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tokio::task::JoinError> {
    /// let scope = Scope::root();
    /// let outside = tokio::spawn(async { Scope::current().is_some() });
    /// let inside = tokio::spawn(scope.wrap(async { Scope::current().is_some() }));
    /// assert!(!outside.await?);
    /// assert!(inside.await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wrap<F: Future>(&self, future: F) -> InScope<F> {
        InScope { scope: Some(self.clone()), future: Some(future) }
    }
}

pin_project! {
    /// A future in a scope; see [`Scope::wrap`].
    #[must_use = "futures do nothing unless polled"]
    #[derive(Debug)]
    pub struct InScope<F> {
        // There, but while it is the current one.
        scope: Option<Scope>,
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for InScope<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let _entered = Entered::new(this.scope);
            this.future.set(None);
        }
    }
}

impl<F: Future> Future for InScope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = Entered::new(this.scope);
        match this.future.as_pin_mut() {
            Some(future) => future.poll(cx),
            None => Poll::Pending,
        }
    }
}
