//! `repeat`: the whole frontier goes round together, breadth first.
//!
//! ```text
//!        until first?     emit first?                      until?        emit?
//!   in ──────┬───────────────┬────────────► body ────────────┬─────────────┬───► again
//!            ▼ leaves        ▼ passed on                     ▼ leaves      ▼ passed on
//! ```
//!
//! Each pull goes round once, so a `limit` behind the loop ends it early.

use super::map::holding;
use super::{Pipeline, Stage, State, Traverser, Upstream};
use crate::graph::REPEAT_MAX;
use crate::graph::error::{Fault, Outcome};
use crate::graph::run::{Run, too_large};
use crate::graph::step::Repeat;

/// A loop under way.
pub(super) struct Loop<'t> {
    body: Pipeline<'t>,
    frontier: Vec<Traverser>,
    rounds: u32,
    /// Whether it has its input.
    begun: bool,
    /// Where the sub-traversals begin in the whole traversal.
    until_at: usize,
    emit_at: usize,
}

impl<'t> Stage<'t> {
    pub(super) fn repeat(
        &mut self,
        repeat: &'t Repeat,
        up: &mut Upstream<'_, 't>,
        run: &mut Run<'_>,
    ) -> Outcome<Option<Vec<Traverser>>> {
        if !matches!(self.state, State::Repeat(_)) {
            let Some(body) = &repeat.body else {
                run.enter(self.step, self.at);
                return Err(Fault::invalid(
                    "until(), times() and emit() belong to a repeat(), and there is none",
                ));
            };
            let until_at = self.at + 1 + body.total();
            let emit_at = until_at + repeat.until.as_ref().map_or(0, |until| until.total());
            let body = Pipeline::of(body, self.at + 1);
            let (frontier, rounds, begun) = (Vec::new(), 0, false);
            self.state = State::Repeat(Box::new(Loop { body, frontier, rounds, begun, until_at, emit_at }));
        }
        let State::Repeat(looping) = &mut self.state else { return Ok(None) };
        if !looping.begun {
            looping.frontier = up.drain(run)?;
            (looping.rounds, looping.begun) = (0, true);
        }
        if looping.frontier.is_empty() {
            return Ok(None);
        }
        run.enter(self.step, self.at);
        let mut leaving = Vec::new();
        looping.check(repeat, true, &mut leaving, run)?;
        if !looping.frontier.is_empty() {
            if looping.rounds >= REPEAT_MAX {
                run.enter(self.step, self.at);
                return Err(too_large(format!(
                    "repeat() goes round at most {REPEAT_MAX} times, the limit of the service: bound it by times() or until()"
                )));
            }
            looping.body.resume(std::mem::take(&mut looping.frontier));
            looping.frontier = looping.body.drain(run)?;
            looping.rounds += 1;
            looping.check(repeat, false, &mut leaving, run)?;
        }
        Ok(Some(leaving))
    }
}

impl Loop<'_> {
    /// Takes other input when it is pulled again. What its body has seen it remembers.
    pub(super) fn stop(&mut self) {
        self.begun = false;
    }

    /// Lets those leave, and passes those on, whose modulators are checked before (or after) a round.
    fn check(
        &mut self,
        repeat: &Repeat,
        before: bool,
        leaving: &mut Vec<Traverser>,
        run: &mut Run<'_>,
    ) -> Outcome<()> {
        if repeat.times_first == before && repeat.times.is_some_and(|times| self.rounds >= times) {
            leaving.append(&mut self.frontier);
        }
        if let Some(until) = repeat.until.as_ref().filter(|_| repeat.until_first == before) {
            let (done, others) = holding(until, self.until_at, std::mem::take(&mut self.frontier), run)?;
            leaving.extend(done);
            self.frontier = others;
        }
        if let Some(emit) = repeat.emit.as_ref().filter(|_| repeat.emit_first == before) {
            match emit {
                None => leaving.extend(self.frontier.iter().cloned()),
                Some(inner) => {
                    leaving.extend(holding(inner, self.emit_at, self.frontier.clone(), run)?.0);
                }
            }
        }
        Ok(())
    }
}
