// For tests: what a KServe v2 server answers that has one model, which doubles its input: y = x + x of [N, 3]. A test's script takes the
// requests that it wants to answer otherwise.
#pragma once

#include "backends/http/scripted_server.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct ScriptedModel {
  bool binary = true;
  int64_t max_batch = 8;
  std::string datatype = "FP32";
  // Asked first; nullopt: as the model answers.
  std::function<std::optional<ScriptedReply>(const ScriptedRequest&)> instead = [](const ScriptedRequest&) { return std::nullopt; };

  ScriptedReply operator()(const ScriptedRequest& request) {
    if (auto reply = instead(request)) return *reply;
    const std::string& path = request.path;
    if (path == "/v2") {
      nlohmann::json extensions = {"classification", "statistics"};
      if (binary) extensions.push_back("binary_tensor_data");
      return {.body = nlohmann::json{{"name", "scripted"}, {"version", "7"}, {"extensions", extensions}}.dump()};
    }
    if (path == "/v2/repository/index")
      return {.body = R"([{"name":"double","version":"1","state":"READY"},{"name":"late","version":"1","state":"LOADING"}])"};
    if (path == "/v2/models/double/ready" || path == "/v2/models/double/versions/1/ready") return {};
    if (path == "/v2/models/double" || path == "/v2/models/double/versions/1") return {.body = metadata()};
    if (path == "/v2/models/double/config") return {.body = nlohmann::json{{"max_batch_size", max_batch}}.dump()};
    if (path == "/v2/models/double/stats") return {.body = statistics()};
    if (path == "/v2/models/double/infer") return answer(request);
    return {.status = 404, .body = R"({"error":"no such thing"})"};
  }

  std::string metadata() const {
    const auto tensor = [&](const char* name) { return nlohmann::json{{"name", name}, {"datatype", datatype}, {"shape", {-1, 3}}}; };
    return nlohmann::json{
        {"name", "double"}, {"versions", {"1"}}, {"platform", "script"}, {"inputs", {tensor("x")}}, {"outputs", {tensor("y")}}}
        .dump();
  }
  // 2 ms in the queue, 0.5, 7 and 0.25 ms of computing for each request; two samples a run.
  std::string statistics() const {
    const int64_t count = *answered;
    const auto part = [&](double ms) { return nlohmann::json{{"count", count}, {"ns", static_cast<int64_t>(ms * 1e6) * count}}; };
    const nlohmann::json inference{{"success", part(10)},        {"fail", {{"count", 0}, {"ns", 0}}}, {"queue", part(2)},
                                   {"compute_input", part(0.5)}, {"compute_infer", part(7)},          {"compute_output", part(0.25)}};
    return nlohmann::json{{"model_stats",
                           {{{"name", "double"},
                             {"version", "1"},
                             {"inference_count", 2 * count},
                             {"execution_count", count},
                             {"inference_stats", inference}}}}}
        .dump();
  }
  ScriptedReply answer(const ScriptedRequest& request) const {
    ++*answered;
    const auto header = request.headers.find("inference-header-content-length");
    const size_t json_bytes = header == request.headers.end() ? request.body.size() : std::stoull(header->second);
    const auto asked = nlohmann::json::parse(request.body.substr(0, json_bytes));
    std::vector<float> values;
    if (header != request.headers.end()) {
      values.resize((request.body.size() - json_bytes) / sizeof(float));
      std::memcpy(values.data(), request.body.data() + json_bytes, values.size() * sizeof(float));
    } else {
      values = asked["inputs"][0]["data"].get<std::vector<float>>();
    }
    for (float& value : values) value += value;
    return answer_of(asked["inputs"][0]["shape"], values, header != request.headers.end());
  }
  ScriptedReply answer_of(const nlohmann::json& shape, const std::vector<float>& values, bool in_bytes) const {
    nlohmann::json output{{"name", "y"}, {"datatype", datatype}, {"shape", shape}};
    const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    if (in_bytes) {
      output["parameters"] = {{"binary_data_size", bytes.size()}};
    } else {
      output["data"] = values;
    }
    const std::string json = nlohmann::json{{"model_name", "double"}, {"model_version", "1"}, {"outputs", {output}}}.dump();
    if (!in_bytes) return {.body = json};
    return {.body = json + bytes,
            .content_type = "application/octet-stream",
            .headers = {"Inference-Header-Content-Length: " + std::to_string(json.size())}};
  }

  std::shared_ptr<std::atomic<int64_t>> answered = std::make_shared<std::atomic<int64_t>>(0);  // shared by copies of the script
};

}  // namespace deepgap
