// Asks a server the questions over gRPC.
#include "backends/kserve/questions.h"

#include "backends/kserve/grpc/connection.h"
#include "backends/kserve/grpc/protocol.h"
#include "base/words.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <kserve.pb.h>

#include <utility>

namespace deepgap {
namespace {

constexpr size_t most_metadata = 4'000'000;

class GrpcQuestions final : public Questions {
 public:
  GrpcQuestions(const ServerAddress& address, ModelName name, const KserveSettings& settings)
      : Questions(address, std::move(name), settings), connection_(address, most_metadata) {}

 private:
  template <typename Question>
  Question of_model() {
    Question question;
    question.set_name(model().name.name);
    question.set_version(model().name.version);
    return question;
  }
  template <typename Question, typename Answer>
  std::optional<RequestError> call(const char* method, const Question& question, Answer& answer) {
    return connection_.ask(method, question, answer, settings().timeout);
  }

  std::optional<RequestError> server() override {
    inference::ServerMetadataResponse answer;
    if (auto request_error = call("ServerMetadata", inference::ServerMetadataRequest(), answer)) return request_error;
    if (answer.name().empty()) refuse("not a KServe v2 server: its metadata has no name");
    model().server = printable(connection_.redacted(answer.version().empty() ? answer.name() : answer.name() + " " + answer.version()));
    for (const std::string& extension : answer.extensions()) model().has_statistics |= extension == "statistics";
    model().binary = true;
    return std::nullopt;
  }

  std::optional<RequestError> ready() override {
    inference::ModelReadyResponse answer;
    if (auto request_error = call("ModelReady", of_model<inference::ModelReadyRequest>(), answer)) return request_error;
    return answer.ready() ? std::nullopt : std::optional(RequestError{RequestError::Kind::status, "answered that it is not"});
  }

  std::optional<RequestError> metadata() override {
    inference::ModelMetadataResponse answer;
    if (auto request_error = call("ModelMetadata", of_model<inference::ModelMetadataRequest>(), answer)) return request_error;
    try {
      model().inputs = tensors(answer.inputs(), "inputs");
      model().outputs = tensors(answer.outputs(), "outputs");
    } catch (const Error& error) {
      refuse(error.what());
    }
    return std::nullopt;
  }

  template <typename Rows>
  std::vector<ServedTensor> tensors(const Rows& rows, const char* which) {
    const std::string& name = model().name.name;
    require_tensors(static_cast<size_t>(rows.size()), which, name);
    std::vector<ServedTensor> found;
    for (const auto& tensor : rows)
      found.push_back(served_tensor(connection_.redacted(tensor.name()), connection_.redacted(tensor.datatype()),
                                    {tensor.shape().begin(), tensor.shape().end()}, name));
    return found;
  }

  void config() override {
    inference::ModelConfigResponse answer;
    if (call("ModelConfig", of_model<inference::ModelConfigRequest>(), answer)) return;
    if (answer.has_config() && answer.config().max_batch_size() >= 0) model().max_batch = answer.config().max_batch_size();
  }

  std::optional<Listed> listed() override {
    inference::RepositoryIndexResponse answer;
    if (call("RepositoryIndex", inference::RepositoryIndexRequest(), answer)) return std::nullopt;
    Listed found;
    for (const auto& row : answer.models()) {
      found.names.insert(connection_.redacted(row.name()));
      if (row.name() == model().name.name) found.versions.insert(connection_.redacted(row.version()));
    }
    return found;
  }

  [[noreturn]] void other_server(const RequestError& request_error) override {
    if (request_error.what.starts_with("answered UNAUTHENTICATED") || request_error.what.starts_with("answered PERMISSION_DENIED"))
      refuse(request_error.what + token_hint);
    if (request_error.what.starts_with("answered UNIMPLEMENTED"))
      refuse(fmt::format("speaks gRPC, but not KServe v2: {}", request_error.what));
    refuse(request_error.what);
  }

  GrpcConnection connection_;
};

}  // namespace

ServedModel ask_for_model_by_grpc(const ServerAddress& address, const std::string& model, const KserveSettings& settings) {
  return GrpcQuestions(address, model_name(model), settings).ask();
}

}  // namespace deepgap
