// The best of each model in one table: highest throughput, lowest latency, least energy and cost, each with what gave it. Pure.
#pragma once

#include "analysis/best_values.h"
#include "report/view.h"

#include <string>

namespace deepgap {

// <table>, at most report_caps.workloads models with the rest counted below it; empty where no model has a usable value.
std::string best_table(const View& view);
std::string best_table_markdown(const View& view);

}  // namespace deepgap
