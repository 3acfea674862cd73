//! The machine as data: reading, checking and listing workflow files in the published format. Pure.
//!
//! Duty: one file, one meaning, every problem named with its place. Danger: a key that is dropped in silence, or a
//! reference that leads nowhere, is a law that does not hold.

pub mod builtin;
mod decode;
pub mod diagram;
pub mod effective;
pub mod exit;
pub mod finding;
mod format;
pub(crate) mod glob;
pub mod load;
pub mod model;
pub mod new;
pub mod prefix;
mod read;
pub mod schema;
pub mod span;
pub mod svg;
pub mod tool;
pub mod validate;

pub use effective::EffectiveTools;
pub use exit::{Exit, ExitKind};
pub use finding::{Finding, Stage, Weight};
pub use load::{Loaded, load, load_with};
pub use model::{Conditions, Edge, Machine, State, StateKind, Target, Transition};
pub use tool::{Family, Meaning, Tool, ToolId, ToolSet};
pub use validate::Invoked;
