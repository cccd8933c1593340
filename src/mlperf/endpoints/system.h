// The description of the system under test in a submission to MLPerf Endpoints (section 8.2): what the Record's facts say of it. Pure.
#pragma once

#include <deepgap/record.h>

#include <nlohmann/json_fwd.hpp>

namespace deepgap {

// Returns system_desc.json without what a curve decides (max_supported_concurrency, tps_utilization). Of a server it has no hardware: the
// facts are those of the client. Availability and division are RDI, which promises nothing, until a disclosure says otherwise.
nlohmann::ordered_json endpoints_system(const Record& record);
// Returns the entry of its node_types: this machine; "not known" where there is no fact.
nlohmann::ordered_json endpoints_node(const Record& record);

}  // namespace deepgap
