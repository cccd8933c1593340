// A whole run: from a Study to Records in the Store. This is what `deepgap run` does once its flags are read.
//
// Everything the user could have got wrong is found before a worker is started for timing, and thrown as Error{usage | input}. From then on
// every failure is a Record, but one: a Store that cannot be written any more ends the run.
#pragma once

#include "analysis/point_summary.h"
#include "plan/peak_planner.h"
#include "plan/study.h"
#include "plan/tune_planner.h"
#include "run/device_locks.h"
#include "run/progress.h"
#include "run/run_summary.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct RunSettings {
  std::string store_path = "deepgap.db";
  std::string cache_dir;
  std::chrono::nanoseconds timeout{std::chrono::seconds(60)};
  int cpus = 1;              // that a Point may use: what threads = 0 and `cpus` mean
  std::string save_weights;  // file for the weights that a Point trained; of several Records each its own beside it; empty: none
  std::string log_dir;       // folder for the logs of runs by rules: of one Record in it, of several in folders below; empty: none
  bool log_trace = false;    // a trace among them
  bool resume = false;
  bool own_study = false;  // `resume` counts what the Store has of this study alone
  bool strict = false;
  std::optional<PeakOrder> peak;                        // search it at the Study's Points; the Study was prepared for it (cli/peak_study.h)
  std::optional<TuneOrder> tune;                        // find the best of the Study's Points (cli/tune_study.h)
  bool auto_repeats = false;                            // measure as many of the Study's repeats as each Point needs (plan/auto_repeats.h)
  std::optional<std::chrono::nanoseconds> search_time;  // longest search of all together, and longest run of auto_repeats
  // A person waits: short looks at all Points come first, for about so long, and are shown as a provisional table. They are in no Store.
  // Ctrl-C then ends a window as its budget would: what it has so far is a Record.
  std::optional<std::chrono::nanoseconds> first_look;
  // The Jobs to measure instead of the whole Study: a part of an inspected Plan, as a fleet's task has it. A model file that is not what it
  // was then is an Error{input}.
  std::optional<std::vector<Job>> part;
  LockSettings locks;                        // by default nothing is locked
  Facts facts;                               // that every Record gets
  std::function<void(const Record&)> saved;  // called after each Record is in the Store; what it throws ends the run
  std::FILE* progress = stderr;
  Words words = Words::usual;  // verbosity of the progress
  std::string busy{};          // what else keeps the machine busy, noted before the first Point is measured and beside the verdicts
};

struct RunReport {
  std::string run_id;
  std::vector<PointSummary> points;  // from this run, and with `resume` from the Store, as far as they are in the Plan
  std::vector<Failure> failures;     // Records that are not usable
  bool repeated = false;             // some Point is measured more than once
  size_t jobs = 0;                   // Jobs in the Plan
  bool open_ended = false;           // how many there are is known at the end alone: of a search, or as many repeats as it takes
  size_t done_before = 0;            // found in the Store by `resume`
  size_t saved = 0;                  // Records written by this run
  bool interrupted = false;
  std::vector<FoundPeak> peaks;          // found by a peak search
  TuneResult tuned;                      // found by tuning
  std::string disturbed;                 // what else the machine did meanwhile (telemetry/machine_load.h); empty: hardly anything
  std::string store_error;               // why the Store could not be written any more; empty when it could
  std::shared_ptr<DeviceLocks> devices;  // still this run's as long as this lives, for what it does after the timing; may be null
};
// Runs a Study. If it is measured in parts, its name and seed identify it.
RunReport run_study(const Study& study, const RunSettings& settings);

// The plan of run_study(): every Point with its repeats, whether it is refused or skipped, and a guess of the time.
struct PlannedPoint {
  Point point;
  std::string point_id;
  int repeats = 0;
  int done_before = 0;
  bool refused = false, skipped = false;
  std::string reason;  // why it is refused or skipped
  double seconds = 0;  // time for what is left of it; for a search: for the runs that it usually takes
  std::string search;  // a peak search in words: where it goes on, how many runs it takes, or what it has found
};
struct DryRun {
  std::vector<PlannedPoint> points;
  TimeSpan time;  // for all Points
  bool interrupted = false;
};
DryRun plan_study(const Study& study, const RunSettings& settings);

// $XDG_CACHE_HOME/deepgap, else ~/.cache/deepgap; where that cannot be written, this user's own folder below /tmp, with a note on stderr
// (once). Throws Error{input} where that is another's.
std::string default_cache_dir();

}  // namespace deepgap
