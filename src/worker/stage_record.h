// Writes end-to-end queries to a Record: estimates stage_NAME_ms, prepare_ms_per_item. docs/reference/database.md names them.
#pragma once

#include "scenario/stage_log.h"
#include "worker/workload_driver.h"

#include <deepgap/record.h>

namespace deepgap {

void keep_stage_log(const StageLog& log, Measured& measured);  // adds to it; nothing where no query was answered

}  // namespace deepgap
