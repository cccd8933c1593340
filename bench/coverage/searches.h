// The tables about what comes before a window and about choosing among runs: warm-up, arrivals, peak searches, tuning.
#pragma once

namespace deepgap {

void print_warmups(int series);
void print_arrivals(int series);  // the processes, and the queues that they make
void print_peaks(int series);     // searches for the largest load that holds a bound
void print_budgets(int series);   // such searches within a time
void print_tuning(int series);    // searches for the best of many configurations

}  // namespace deepgap
