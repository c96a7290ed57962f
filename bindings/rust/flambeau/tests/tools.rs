//! Profiles, progress and charts.

mod place;

use std::sync::{Arc, Mutex};

use flambeau::{
    ones,
    profiler::{self, NamedRange, ProfileAveragesOptions, Profiler, ProfilerOptions},
    tools::{Plot, PlotPanelOptions, Progress, ProgressOptions},
    Error, Result, Status,
};

#[test]
fn a_profile_has_ops_and_ranges() -> Result<()> {
    let options = ProfilerOptions::default().record_shapes(true);
    let profiler = Profiler::start_with(options)?;
    assert_eq!(Profiler::start().unwrap_err().status(), Status::InvalidArgument);
    {
        let _outer = NamedRange::new("outer");
        ones(&[2, 3])?.exp()?;
    }
    let profile = profiler.stop()?;
    let table = profile.table()?;
    assert!(table.contains("outer") && table.contains("exp"), "{}", table);
    assert!(profile
        .averages_with(ProfileAveragesOptions::default().by_shape(true))
        .contains("[[2, 3]]"));
    drop(Profiler::start()?);
    assert!(!profiler::is_running());
    Ok(())
}

#[test]
fn progress_is_shown_by_a_closure() -> Result<()> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let mut progress = Progress::new_with(ProgressOptions::default().total(4).unit("rows"))?;
    let show = move |event: &str, text: &str, json: &str| {
        assert!(json.starts_with('{'));
        seen.lock().unwrap().push(format!("{}: {}", event, text));
        Ok(())
    };
    progress.to_callback(show, 60.0)?;
    assert!(!progress.advance_with(3));
    assert!(progress.advance());
    progress.set("loss", 0.5)?;
    progress.draw()?;
    progress.say("done")?;
    progress.finish()?;
    let lines = lines.lock().unwrap();
    assert!(lines[0].contains("100 %") && lines[0].contains("loss 0.5000"), "{:?}", lines);
    assert_eq!(lines[1], "message: done");
    Ok(())
}

#[test]
fn a_closure_that_fails_ends_the_call() -> Result<()> {
    let mut progress = Progress::new()?;
    let fails = |_: &str, _: &str, _: &str| Err(Error::new(Status::Io, "no display"));
    progress.to_callback(fails, 0.0)?;
    assert!(progress.say("text").unwrap_err().to_string().contains("no display"));
    Ok(())
}

#[test]
fn charts_are_svg() -> Result<()> {
    let mut plot = Plot::new_with(Some("a title"))?;
    plot.panel_with("one", PlotPanelOptions::default().unit(" %"))?;
    plot.line("curve", &[1.0, 2.0])?;
    plot.bars_with("bars", &[1.0], Some(&[3.0]))?;
    let svg = plot.svg();
    assert!(svg.starts_with("<svg") && svg.contains("a title") && svg.contains("curve"));
    assert!(plot.line("none", &[]).is_err());
    Ok(())
}
