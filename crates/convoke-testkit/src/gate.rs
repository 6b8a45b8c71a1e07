//! A gate that a test opens when it wants to, instead of sleeping.

use std::{fmt, sync::Arc};

use tokio::sync::{Semaphore, watch};

/// Holds up whoever comes by until the test lets them through. Cloning shares it.
///
/// ```
/// use convoke_testkit::Gate;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let gate = Gate::closed();
/// let work = tokio::spawn({
///     let gate = gate.clone();
///     async move { gate.pass().await }
/// });
/// gate.arrived(1).await;
/// assert!(!work.is_finished());
///
/// gate.open();
/// work.await.unwrap();
/// # }
/// ```
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    /// A permit for each who may pass; closed where everybody may.
    permits: Semaphore,
    arrivals: watch::Sender<usize>,
}

impl Gate {
    /// A gate that nobody passes yet.
    pub fn closed() -> Self {
        Self(Arc::new(Inner { permits: Semaphore::new(0), arrivals: watch::Sender::new(0) }))
    }

    /// Lets everybody through, those who come later as well.
    pub fn open(&self) {
        self.0.permits.close();
    }

    /// Lets the next `count` through, in the order of their arrival.
    pub fn let_through(&self, count: usize) {
        self.0.permits.add_permits(count);
    }

    /// Waits to be let through.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in the line up; it stays counted as an arrival.
    pub async fn pass(&self) {
        self.0.arrivals.send_modify(|arrivals| *arrivals += 1);
        // An error says that the gate is open.
        if let Ok(permit) = self.0.permits.acquire().await {
            permit.forget();
        }
    }

    /// How many have come by, let through or not.
    pub fn arrivals(&self) -> usize {
        *self.0.arrivals.borrow()
    }

    /// Waits until `count` have come by.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn arrived(&self, count: usize) {
        // The gate holds the sender, so that the channel is open.
        let _ = self.0.arrivals.subscribe().wait_for(|arrivals| *arrivals >= count).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::closed()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("is_open", &self.0.permits.is_closed())
            .field("arrivals", &self.arrivals())
            .finish()
    }
}
