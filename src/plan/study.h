// Study: what a user asks for, from a TOML file and flags, and its Plan: every (Point, repeat) to measure. docs/reference/study-file.md has
// the format. Plain values and pure functions; any thread.
#pragma once

#include <deepgap/record.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// Axis values in the order they are written; names are Point fields (model, backend, device, precision, batch, scenario, threads,
// dataset, weights, task) or any option.
struct Axis {
  std::string name;
  std::vector<std::string> values;
  std::vector<std::string> places{};  // where the user wrote each value: "FILE:LINE" or a flag; empty: unknown
};

// Returns a pointer into `axes`; nullptr when none has the name.
const Axis* find_axis(const std::vector<Axis>& axes, std::string_view name);
// Replaces the axis with the same name, else appends.
void set_axis(std::vector<Axis>& axes, Axis axis);

// [[grid.skip]]: leaves out combinations. All conditions must hold: {"batch", ">", "32"}, {"model", "=", "resnet101"}. `threads` may be
// compared with the word `cpus` (the allowed ones); a device without its number ("cuda") stands for all of its kind.
struct Condition {
  std::string axis;
  std::string op;  // =, !=, <, <=, >, >=
  std::string value;
};
struct SkipRule {
  std::vector<Condition> conditions;
  std::string reason;  // with one, the Point becomes a `skipped` Record; without, it is not in the Plan
};

// [[grid.tenant]]: what sets one of several Points apart that are measured together; an axis of the grid that it names too is its own.
using TenantAxes = std::vector<Axis>;

struct Grid {
  std::vector<Axis> axes;
  std::vector<TenantAxes> tenants;  // none: every Point is measured alone
  std::string duel;                 // axis whose values are a duel's contenders; empty: there is none (plan/duels.h)
  bool interleave = false;          // Points that differ in their engine take turns, where that changes neither (run/interleave.h)
  bool apart = false;               // `apart = true` in a study file: they do not, whatever is usual
  bool energy = false;              // its energy is wanted
  double margin = 0.02;             // for a duel: a smaller difference does not count
  bool own_budget = false;          // somebody said it
  bool own_repeats = false;         // likewise
  std::vector<SkipRule> skips;
  int repeats = 1;
  int sweeps = 1;  // whole passes over the grid; repeat r belongs to sweep r / repeats
  StoppingSettings stopping;
  bool check = true;
  bool find_peak = false;  // its Points are where peak searches begin, one for each (cli/peak_study.h)
  std::string place{};     // "FILE:LINE" of its [[grid]]; empty: made of flags
};

// Repeats of a grid where nobody said how many: five of a file's, as comparisons need (methodology.md#repeats); one where flags
// alone make it, and of duels, peak searches, MLPerf runs and grids with sweeps, which repeat in their own way.
int usual_repeats(const Grid& grid);

struct Study {
  std::string name = "flags";
  std::string describe;
  uint64_t seed = 1;  // seed for the order of measurement
  std::vector<Grid> grids;
};

// "1,2,4", "1..8" (step 1), "1..512*2", "10..50+10"; one of them or several joined by commas. A value that was there is not repeated. A
// model's own options stay with it: "resnet50:width=0.5,classes=10,resnet18" are two. Throws Error{usage} naming `where`.
std::vector<std::string> parse_axis_values(const std::string& text, const std::string& where);

// "throughput", "p99", "99" or "99.9" as StoppingSettings::target; nullopt for anything else.
std::optional<std::string> parse_target(const std::string& text);

// Throws Error{usage|input} as one line "FILE:LINE: cause", with "did you mean" for keys.
Study read_study(const std::string& path);
Study parse_study(const std::string& text, const std::string& path);  // `path` for errors and as the name where the text has none

// "model=resnet50,batch=1,8,scenario=server": names with their values, as --tenant takes them. Throws Error{usage}.
TenantAxes parse_tenant(const std::string& text);

// Sets a window of one length, `otherwise` where nothing was said, so that windows can be compared.
void fix_window(StoppingSettings& stopping, Nanoseconds otherwise);
// A window not shorter than `least`, whatever rule ends it.
void set_min_duration(StoppingSettings& stopping, Nanoseconds least);
// One not shorter than 10 s, in which the steps of an energy counter (100 ms on a GPU) are under 1 %.
void lengthen_for_energy(StoppingSettings& stopping);

// Flags as axes and settings on top of a Study's grids (or of one empty grid): a flag replaces the grid's axis of that name.
struct Overrides {
  std::vector<Axis> axes;
  std::vector<TenantAxes> tenants;  // instead of the grids'
  std::optional<std::string> duel;  // likewise
  std::optional<double> margin;
  std::optional<int> repeats, sweeps;
  std::optional<int64_t> warmup, iterations;
  std::optional<Nanoseconds> duration, budget, min_duration;
  std::optional<double> interval;
  std::optional<std::string> target;  // throughput or a percentile
  std::optional<bool> check;
  bool energy = false;
  std::optional<bool> interleave;
};
void apply_overrides(Study& study, const Overrides& overrides);

struct Job {
  Point point;
  std::string point_id;
  int repeat = 0;
  int sweep = 0;
  StoppingSettings stopping;
  bool check = true;
  std::string skip_reason;   // not empty: record `skipped`, run nothing
  std::string peak_phase{};  // phase of the peak search that asks for it; empty: no search does
  bool own_batch = false;    // the user gave no batch: it is 1, or the model's fixed batch, which the inspection finds
  bool interleave = false;   // it takes turns with the Jobs of its repeat that differ in their engine alone
  bool energy = false;       // its energy is wanted
  bool own_window = false;   // the user gave no shortest window: it is a part of 10 s over all repeats
};

// Throws Error{usage} for one that no engine has ("did you mean").
Precision precision_named(const std::string& name);

inline constexpr int64_t most_jobs = 1'000'000;

// Every Job of the Study, unordered (the Planner orders); `cpus` is the number of allowed CPUs, which replaces threads = 0 and "cpus". Of
// a grid with tenants: each tenant alone, then the tenants of each set one after the other (record/tenant_set.h); of
// a duel its contenders one after the other (record/duel_set.h). A
// Point that several grids name is measured once, with the settings of the grid that asks for most repeats; `notes` gets a line about it.
// Throws Error{usage} for unknown axes, empty axes, values of the wrong type, tenants that cannot be, too many Jobs, or no Job at all.
std::vector<Job> expand(const Study& study, int cpus, std::vector<std::string>* notes = nullptr);

}  // namespace deepgap
