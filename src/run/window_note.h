// Notes on a Point's window before it is measured: whether its rate brings enough queries. Pure.
#pragma once

#include "plan/study.h"

#include <optional>
#include <string>

namespace deepgap {

// Returns how long the window of a Job at a rate will be, its growth under a bound included; nullopt if only the answers decide that.
std::optional<Nanoseconds> scheduled_window(const Job& job);
// Returns how long queries come before such a window that are not recorded.
Nanoseconds scheduled_lead(const Job& job, Nanoseconds window);

// A line for people where the window of a Job under a bound will be longer than asked, or its budget too short to decide the bound; else
// empty. Throws Error{usage} for a rate that brings fewer than two queries.
std::string window_note(const Job& job);

}  // namespace deepgap
