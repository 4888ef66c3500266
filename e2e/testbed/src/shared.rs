//! One bed for all tests of a binary.

use tokio::sync::OnceCell;

use crate::bed::{Builder, Testbed};

/// A bed that the first test starts and all tests use.
///
/// ```no_run
/// static BED: testbed::Shared = testbed::Shared::new(|| testbed::Testbed::builder().members(3));
///
/// #[tokio::test]
/// async fn has_three_members() {
///     let bed = BED.get().await;
///     assert_eq!(bed.members().len(), 3);
/// }
/// # fn main() {}
/// ```
pub struct Shared {
    describe: fn() -> Builder,
    bed: OnceCell<Result<Testbed, String>>,
}

impl Shared {
    /// Describes the bed; nothing is started yet.
    pub const fn new(describe: fn() -> Builder) -> Self {
        Self {
            describe,
            bed: OnceCell::const_new(),
        }
    }

    /// The bed, started by whoever comes first.
    ///
    /// # Panics
    ///
    /// If the bed could not be started: then no test can go on.
    #[expect(
        clippy::panic,
        reason = "without a bed every test has to fail, and with the reason"
    )]
    pub async fn get(&'static self) -> &'static Testbed {
        let bed = self
            .bed
            .get_or_init(|| async {
                (self.describe)()
                    .start()
                    .await
                    .map_err(|error| format!("{error:?}"))
            })
            .await;
        match bed {
            Ok(bed) => bed,
            Err(error) => panic!("the test bed did not start: {error}"),
        }
    }
}
