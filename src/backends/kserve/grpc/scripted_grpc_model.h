// For tests: what a KServe v2 server answers over gRPC that has one model, which doubles its input: y = x + x of [N, 3]. A test's script
// takes the calls that it wants to answer otherwise.
#pragma once

#include "backends/kserve/grpc/scripted_grpc_server.h"

#include <kserve.pb.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct ScriptedGrpcModel {
  bool raw = true;  // answers with bytes; else with numbers
  int max_batch = 8;
  std::string datatype = "FP32";
  // Asked first; nullopt: as the model answers.
  std::function<std::optional<ScriptedAnswer>(const ScriptedCall&)> instead = [](const ScriptedCall&) { return std::nullopt; };

  ScriptedAnswer operator()(const ScriptedCall& call) {
    if (auto answer = instead(call)) return *answer;
    if (call.method == "ServerMetadata") return of(server());
    if (call.method == "ModelReady") return ready(call);
    if (call.method == "ModelMetadata") return of(metadata());
    if (call.method == "ModelConfig") {
      inference::ModelConfigResponse config;
      config.mutable_config()->set_max_batch_size(max_batch);
      return of(config);
    }
    if (call.method == "RepositoryIndex") return of(index());
    if (call.method == "ModelStatistics") return of(statistics());
    if (call.method == "ModelInfer") return of(answer(call.message));
    if (call.method == "ModelStreamInfer") {
      inference::ModelStreamInferResponse response;
      *response.mutable_infer_response() = answer(call.message);
      return of(response);
    }
    return {.status = {grpc::StatusCode::UNIMPLEMENTED, ""}};
  }

  static ScriptedAnswer of(const google::protobuf::MessageLite& message) { return {.message = message.SerializeAsString()}; }
  // A stream's error for one request.
  static ScriptedAnswer stream_error(const std::string& words) {
    inference::ModelStreamInferResponse response;
    response.set_error_message(words);
    return of(response);
  }

  static inference::ServerMetadataResponse server() {
    inference::ServerMetadataResponse response;
    response.set_name("scripted");
    response.set_version("7");
    response.add_extensions("statistics");
    return response;
  }
  static ScriptedAnswer ready(const ScriptedCall& call) {
    inference::ModelReadyRequest asked;
    asked.ParseFromString(call.message);
    inference::ModelReadyResponse response;
    response.set_ready(asked.name() == "double" && (asked.version().empty() || asked.version() == "1"));
    return of(response);
  }
  inference::ModelMetadataResponse metadata() const {
    inference::ModelMetadataResponse response;
    response.set_name("double");
    auto& x = *response.add_inputs();
    x.set_name("x");
    auto& y = *response.add_outputs();
    y.set_name("y");
    for (auto* tensor : {&x, &y}) {
      tensor->set_datatype(datatype);
      tensor->add_shape(-1);
      tensor->add_shape(3);
    }
    return response;
  }
  static inference::RepositoryIndexResponse index() {
    inference::RepositoryIndexResponse response;
    for (const char* name : {"double", "late"}) {
      auto& model = *response.add_models();
      model.set_name(name);
      model.set_version("1");
    }
    return response;
  }
  // 2 ms in the queue, 0.5, 7 and 0.25 ms of computing for each request; two samples a run.
  inference::ModelStatisticsResponse statistics() const {
    const auto count = static_cast<uint64_t>(answered->load());
    inference::ModelStatisticsResponse response;
    auto& model = *response.add_model_stats();
    model.set_inference_count(2 * count);
    model.set_execution_count(count);
    auto& stats = *model.mutable_inference_stats();
    const auto put = [&](inference::StatisticDuration& part, double ms) {
      part.set_count(count);
      part.set_ns(static_cast<uint64_t>(ms * 1e6) * count);
    };
    put(*stats.mutable_success(), 10);
    put(*stats.mutable_queue(), 2);
    put(*stats.mutable_compute_input(), 0.5);
    put(*stats.mutable_compute_infer(), 7);
    put(*stats.mutable_compute_output(), 0.25);
    return response;
  }
  inference::ModelInferResponse answer(const std::string& request) const {
    ++*answered;
    inference::ModelInferRequest asked;
    asked.ParseFromString(request);
    const std::string bytes = asked.raw_input_contents(0);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    for (float& value : values) value += value;
    inference::ModelInferResponse response;
    response.set_id(asked.id());
    auto& output = *response.add_outputs();
    output.set_name("y");
    output.set_datatype(datatype);
    for (const int64_t size : asked.inputs(0).shape()) output.add_shape(size);
    if (raw) {
      response.add_raw_output_contents(values.data(), values.size() * sizeof(float));
    } else {
      for (const float value : values) output.mutable_contents()->add_fp32_contents(value);
    }
    return response;
  }

  std::shared_ptr<std::atomic<int64_t>> answered = std::make_shared<std::atomic<int64_t>>(0);  // shared by copies of the script
};

}  // namespace deepgap
