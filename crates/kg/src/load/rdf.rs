use super::*;
pub(super) fn read(
    _b: &mut GraphBuilder,
    _i: Input<'_>,
    _f: Format,
    _s: Split,
    _o: &Options,
) -> Result<Report> {
    Ok(Report::default())
}
