// Checks whether tenants that began together also ran together to their ends. Pure function.
#pragma once

#include <deepgap/record.h>

#include <vector>

namespace deepgap {

// `tenants` are Records with outcome ok of one set. Each gets the fact tenant.window_share: of its measured window, the part in which all
// others were measured too. Below 0.9 a Record is `unstable`: its figures are partly those of a tenant alone.
void note_common_window(std::vector<Record>& tenants);

}  // namespace deepgap
