// Models that a server has (is_remote(), deepgap/point.h), and what stands for one here.
//
// Two shapes were weighed. A server's Model could be found by open_model(), as any other; but files are looked at by a confined child that
// reaches no network, and only a plug-in speaks to servers. So the Backend returns a Graph of inputs, outputs and one node, which is what
// the engine gets, and open_model() knows nothing of servers. The Model of the file that `reference` names, where there is one, is what the
// samples are made for and the outputs are compared with.
#pragma once

#include "worker/point_options.h"

#include <deepgap/backend.h>
#include <deepgap/model.h>

#include <memory>
#include <string>

namespace deepgap {

struct ModelRequest;

// Throws Error{usage} where a server is asked of an engine that runs here, or the other way round, and for options that do not go together.
void require_place(const Point& point, const PointOptions& options, ModelForm form);
// Asks for the file that the Point names as its reference.
ModelRequest reference_request(const Point& point, const PointOptions& options, const std::string& cache_dir);
// Returns the model as the server describes it, with the Point's sizes. With `reference` its inputs and outputs stand in the reference's
// order. Throws as Backend::remote_model does, and Error{usage} for sizes that stay open or are not the server's, and where the two do not
// have the same inputs and outputs.
std::shared_ptr<const Model> served_model(Backend& backend, const Point& point, const PointOptions& options, const Model* reference);

}  // namespace deepgap
