#include "worker/node_verdict.h"

#include "model/zoo/zoo.h"
#include "worker/check.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace deepgap {

std::string failed_nodes_words(const std::vector<NodeCheck>& nodes, const std::string& against, Precision precision, double asked_db) {
  const auto less = [](const NodeCheck& a, const NodeCheck& b) { return a.sqnr_db < b.sqnr_db; };
  const NodeCheck& worst = *std::min_element(nodes.begin(), nodes.end(), less);
  const auto below = std::count_if(nodes.begin(), nodes.end(), [&](const NodeCheck& node) { return node.sqnr_db < asked_db; });
  const std::string others = below > 1 ? fmt::format("; {} of {} nodes are below that", below, nodes.size()) : "";
  return fmt::format("node {} ({}), alone on the inputs of the {}: SQNR {} of every node{}", worst.name, worst.op, against,
                     below_words(worst.sqnr_db, precision, asked_db), others);
}

bool is_judged_by_nodes(const Point& point) { return !is_remote(point.placement) && is_chaotic(point.model, point.weights); }

NodeVerdict judge_by_nodes(const Point& point, const DeviceId& device, const PointOptions& options, const std::string& cache_dir,
                           Group& group, const CheckResult& outputs) {
  OutputsRequest request;
  request.model = model_request(point, options, cache_dir);
  request.backend = point.backend;
  request.device = device;
  request.precision = point.precision;
  request.dataset = point.dataset;
  request.samples = std::min(options.samples, node_check_samples);
  request.threads = point.threads;
  request.cache_dir = cache_dir;
  request.options = options.backend;
  request.quantize = options.quantize;
  const NodeChecks& checks = group.node_checks(
      outputs_request_to_json(request).dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore), [&] { return check_nodes(request); });
  if (checks.nodes.empty()) throw Error(ErrorKind::internal, "no node was compared");
  const auto worst = std::min_element(checks.nodes.begin(), checks.nodes.end(),
                                      [](const NodeCheck& a, const NodeCheck& b) { return a.sqnr_db < b.sqnr_db; });
  const double asked = point.precision == Precision::int8 ? options.quantize.min_sqnr_db : min_sqnr_db(point.precision);
  NodeVerdict verdict{outputs, fmt::format("node by node: the worst of {} is {} ({}) with {:.1f} dB", checks.nodes.size(), worst->name,
                                           worst->op, worst->sqnr_db)};
  verdict.result.against += ", node by node";
  verdict.result.sqnr_db = worst->sqnr_db;
  verdict.result.min_sqnr_db = asked;
  verdict.result.pass = worst->sqnr_db >= asked;
  if (!verdict.result.pass) verdict.wrong = failed_nodes_words(checks.nodes, outputs.against, point.precision, asked);
  return verdict;
}

}  // namespace deepgap
