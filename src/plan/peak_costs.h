// PeakCosts: predicts how long the next runs of a peak search take, from the runs so far, so that it settles while its budget still holds
// the runs that confirm. A run takes its window, a lead before it, and all that is around: its process, loading, warm-up, the store. Plain
// arithmetic; one thread.
#pragma once

namespace deepgap {

struct TimedRun {
  bool in_own_process = false;  // it started one: the first run, and those that confirm
  bool held = false;            // else its window may have ended as soon as the SLO was out of reach
  double seconds = 0;           // all that it took
  double asked_s = 0;           // the window that was asked for
  double window_s = 0;          // the window that it had, longer where a loop needed more queries
};

class PeakCosts {
 public:
  void add(const TimedRun& run);
  bool known() const { return runs_ > 0; }
  // Returns the time of a run with a window of `asked_s`: one that looks for the load in the process of the run before, and one that starts
  // its own.
  double looking_s(double asked_s) const;
  double confirming_s(double asked_s) const;

 private:
  int runs_ = 0, looks_ = 0, confirmed_ = 0;
  double first_around_s_ = 0;    // around the first run, which may have read the model from a cold disk
  double looking_around_s_ = 0;  // the longest of each kind after it
  double confirming_around_s_ = 0;
  double grown_s_ = 0;  // the window of the last run that held, where it was longer than it was asked to be
};

}  // namespace deepgap
