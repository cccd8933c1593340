// Progress of a run, on stderr: a line for each finished Record, and on a terminal a live line below with the phase and the time left. For
// another program the same as JSON, an object a line (docs/reference/files.md).
// What cannot be written is dropped: a measurement does not end because nobody looks.
#pragma once

#include "plan/study.h"
#include "run/time_span.h"

#include <chrono>
#include <cstdio>
#include <string>

namespace deepgap {

// "resnet18 onnxruntime fp32 batch 4 threads 2": what stands in progress lines and lists of failures.
std::string point_label(const Point& point, bool with_threads = true);
// "812.3 items/s (±0.8 %), p50 1.2 ms", or the outcome; with the reason of an outcome or verdict where `with_reason`.
std::string result_text(const Record& record, bool with_reason = true);

// The verbosity of a run: few: nothing; many: also what became of each Record in detail; json: events for a program.
enum class Words { few, usual, many, json };

// "load 0.2 s, warm_up 1 s, steady 8 s, ..." by the Record's windows, why it ended, and the last words of a worker that failed; a line for
// each, indented.
std::string detail_text(const Record& record);

// "2 of 3 records are in night.db"; "1 record is in night.db" where no more were asked for.
std::string saved_text(size_t saved, size_t jobs, const std::string& store);

// Returns the width of the terminal behind `out`; 0 if it is not a terminal.
size_t terminal_columns(std::FILE* out);
// Prints lines for people to standard output. Those wider than the terminal go on below, indented; commands with a "\\" at the break.
void print_wrapped(const std::string& text);

class Progress {
 public:
  Progress(std::FILE* out, bool terminal, Words words = Words::usual);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(size_t jobs);             // 0: not known
  void note(const std::string& line);  // once, above the live line
  void under_way(const std::string& label, const std::string& phase, const std::string& done, const TimeSpan& left);
  void finished(const std::string& label, const std::string& result, const TimeSpan& left);
  void detail(const Record& record);  // details of the Record last shown, if verbose
  void passed() { ++finished_; }      // one more with the result that was shown already
  void clear();                       // the live line
  // Returns whether a finished record's line has its reason. Where progress and results are read together, reasons stand below the table.
  bool shows_reasons() const { return !beside_results_ || words_ == Words::many; }

 private:
  std::string place(size_t number) const;  // "3/12"

  std::FILE* out_;
  bool terminal_, beside_results_;
  Words words_;
  bool live_ = false;
  size_t total_ = 0, finished_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace deepgap
