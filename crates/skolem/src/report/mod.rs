//! What models were measured to do, beside the figures that the paper prints.
//!
//! | module | what it is |
//! |---|---|
//! | [`findings`] | what was measured of one model: a JSON file |
//! | [`models`] | the models that can be compared, by their labels |
//! | [`paper`] | the figures as printed |
//! | [`compare`] | tables with ours and the paper's |
//! | `notes` | what every reader has to know of these tables |
//! | `svg`, `curves`, `dots`, `scatter` | figures |
//! | `html`, `markdown` | the pages |

pub mod compare;
mod curves;
mod dots;
pub mod findings;
mod html;
mod machine;
mod markdown;
pub mod models;
mod notes;
pub mod paper;
mod scatter;
mod settings;
mod svg;
mod text;

use std::path::Path;

use skolem_kg::store::write_atomically;

use crate::error::Result;

pub use findings::Findings;
pub use html::html;
pub use machine::Machine;
pub use markdown::markdown;

/// Writes `report.html` and `report.md` of all findings in a folder.
pub fn write(folder: &Path) -> Result<()> {
    let all = Findings::read_all(folder)?;
    for (name, text) in [("report.html", html(&all)), ("report.md", markdown(&all))] {
        write_atomically(&folder.join(name), |out| out.write_all(text.as_bytes()))?;
    }
    Ok(())
}
