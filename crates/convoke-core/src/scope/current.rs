//! The current scope: that of the work which this thread polls or runs at the moment.

use std::{
    cell::RefCell,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use super::Scope;

thread_local! {
    static CURRENT: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

/// Puts the scope before back, also where what ran in between panics.
struct Entered(Option<Scope>);

impl Entered {
    fn new(scope: &Scope) -> Self {
        Self(CURRENT.replace(Some(scope.clone())))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // Where the thread is being torn down, there is nothing to put back.
        let _ = CURRENT.try_with(|current| current.replace(self.0.take()));
    }
}

impl Scope {
    /// The scope of the work that this thread polls or runs at the moment.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }

    /// Calls a function with this scope as the current one.
    pub fn enter<T>(&self, run: impl FnOnce() -> T) -> T {
        let _entered = Entered::new(self);
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
        InScope { scope: self.clone(), future: Some(future) }
    }
}

pin_project! {
    /// A future in a scope; see [`Scope::wrap`].
    #[must_use = "futures do nothing unless polled"]
    #[derive(Debug)]
    pub struct InScope<F> {
        scope: Scope,
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
