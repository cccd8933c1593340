// The echo server over gRPC (see echo_server.cpp): one thread, gRPC's asynchronous generic service, one model `echo`, y = x of [N, 16]
// FP32. For the rate that a client reaches by itself.
//
//   grpc_echo_server [PORT]     prints its URL; ends with its standard input, and prints how many inputs it sent back
#include <fmt/format.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <kserve.pb.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

namespace {

std::atomic<int64_t> answered{0};

template <typename Tensor>
void describe(Tensor& tensor, const char* name) {
  tensor.set_name(name);
  tensor.set_datatype("FP32");
}

std::string metadata() {
  inference::ModelMetadataResponse response;
  response.set_name("echo");
  for (auto* tensor : {response.add_inputs(), response.add_outputs()}) {
    describe(*tensor, tensor == &response.inputs(0) ? "x" : "y");
    tensor->add_shape(-1);
    tensor->add_shape(16);
  }
  return response.SerializeAsString();
}

std::string echo(const grpc::Slice& bytes) {
  ++answered;
  inference::ModelInferRequest asked;
  asked.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()));
  inference::ModelInferResponse response;
  response.set_id(asked.id());
  auto& output = *response.add_outputs();
  describe(output, "y");
  *output.mutable_shape() = asked.inputs(0).shape();
  *response.add_raw_output_contents() = asked.raw_input_contents(0);
  return response.SerializeAsString();
}

std::string streamed(const std::string& answer) {
  inference::ModelStreamInferResponse response;
  response.mutable_infer_response()->ParseFromString(answer);
  return response.SerializeAsString();
}

std::string answer(const std::string& method, const grpc::Slice& bytes) {
  if (method == "ModelInfer") return echo(bytes);
  if (method == "ModelStreamInfer") return streamed(echo(bytes));
  if (method == "ModelMetadata") return metadata();
  if (method == "ServerMetadata") {
    inference::ServerMetadataResponse response;
    response.set_name("echo");
    return response.SerializeAsString();
  }
  if (method == "ModelReady") {
    inference::ModelReadyResponse response;
    response.set_ready(true);
    return response.SerializeAsString();
  }
  inference::ModelConfigResponse response;
  response.mutable_config()->set_max_batch_size(8);
  return response.SerializeAsString();
}

// One call, or one stream with all its messages.
class Call {
 public:
  Call(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue) : service_(service), queue_(queue), stream_(&context_) {
    service_.RequestCall(&context_, &stream_, &queue_, &queue_, this);
  }
  void go_on(bool ok) {
    switch (state_) {
      case State::asked:
        if (!ok) return delete_this();
        new Call(service_, queue_);
        method_ = context_.method().substr(context_.method().rfind('/') + 1);
        return read();
      case State::read:
        return ok ? reply() : finish();
      case State::written:
        return ok ? read() : finish();
      case State::finished:
        return delete_this();
    }
  }

 private:
  enum class State { asked, read, written, finished } state_ = State::asked;
  void read() {
    state_ = State::read;
    stream_.Read(&bytes_, this);
  }
  void reply() {
    grpc::Slice asked;
    if (!bytes_.TrySingleSlice(&asked).ok() && !bytes_.DumpToSingleSlice(&asked).ok()) return finish();
    const grpc::Slice response(answer(method_, asked));
    bytes_ = grpc::ByteBuffer(&response, 1);
    const bool goes_on = method_ == "ModelStreamInfer";
    state_ = goes_on ? State::written : State::finished;
    if (goes_on) return stream_.Write(bytes_, this);
    stream_.WriteAndFinish(bytes_, {}, grpc::Status::OK, this);
  }
  void finish() {
    state_ = State::finished;
    stream_.Finish(grpc::Status::OK, this);
  }
  void delete_this() { delete this; }

  grpc::AsyncGenericService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  grpc::ByteBuffer bytes_;
  std::string method_;
};

}  // namespace

int main(int count, char** arguments) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(fmt::format("127.0.0.1:{}", count > 1 ? std::atoi(arguments[1]) : 0), grpc::InsecureServerCredentials(), &port);
  grpc::AsyncGenericService service;
  builder.RegisterAsyncGenericService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  fmt::print("grpc://127.0.0.1:{}\n", port);
  std::fflush(stdout);
  std::thread end([] {
    while (std::getchar() != EOF) {
    }
    fmt::print("{}\n", answered.load());
    std::fflush(stdout);
    std::_Exit(0);
  });
  end.detach();
  new Call(service, *queue);
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Call*>(tag)->go_on(ok);
}
