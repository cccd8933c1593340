// A run that is not `valid`, query after query: the time from one completion to the next in order of time, what the verdict names marked in
// it (the step, the drift, two speeds, a late warm-up, the bound), and below it on the same axis what the probes read. Small, whatever the
// length of the run. Works without a script. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// A stretch of the run: what its middle eighty percent took, and its mean.
struct SequenceBin {
  double at = 0;  // seconds after the steady window's begin
  double low = 0, mean = 0, high = 0;
};

// A mark over the run: a level or a line from one place to another, with words at its end.
struct SequenceMark {
  double begin = 0, end = 0;              // seconds
  double begin_value = 0, end_value = 0;  // values on the axis
};

struct SequenceStrip {
  std::string title;  // with its unit
  std::vector<std::pair<double, double>> points;
};

struct RunSequence {
  std::string label;            // label of the Point
  std::string verdict, reason;  // as the Record has them
  std::string axis;             // "Time between completions (ms)"
  double length_s = 0;
  std::vector<SequenceBin> bins;
  std::vector<SequenceMark> marks;
  std::optional<double> edge_s;  // where a step is, or a late warm-up ends
  bool shaded = false;           // what is before the edge belonged to the warm-up
  std::string mark_words;        // describes marks and edge; empty where nothing is marked
  std::vector<SequenceStrip> strips;
};

// Draws a Record with its timings and series. nullopt where it has too few of them to show.
std::optional<RunSequence> run_sequence_of(const Record& record, const std::string& label);

std::string run_sequence_svg(const RunSequence& sequence);

// Runs that are not valid, and how many more there are; empty without any.
struct RunSequences {
  std::vector<RunSequence> shown;
  size_t left_out = 0;         // beyond those that fit
  size_t without_timings = 0;  // runs whose timings the Store does not have
};
std::string run_sequences_section(const RunSequences& sequences);

}  // namespace deepgap
