#include "backends/native/query_runner.h"
#include "engine/cpu/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

class NetworkRunner : public QueryRunner {
 public:
  NetworkRunner(NetworkSource& source, const NetworkOptions& options, BatchIo& io)
      : batch_sizes_(options.batch_sizes), io_(io), network_(source, options) {}

  const Network& network() const { return network_; }
  TeamScope team() const override { return network_.team(); }

  void prepare(int slot, std::span<const uint32_t> samples) override {
    plan_ = network_.plan_for(static_cast<int64_t>(samples.size()));
    if (plan_ == nullptr || samples.empty())
      throw Error(ErrorKind::refused,
                  fmt::format("native: {} samples were enqueued, batch sizes loaded: {}", samples.size(), fmt::join(batch_sizes_, ", ")));
    io_.gather(slot, samples, plan_->batch);
  }

  void compute(int slot, std::span<const uint32_t> samples) override {
    network_.run(*plan_, io_.inputs(slot), io_.output_addresses(slot));
    io_.set_shapes(slot, plan_->outputs, plan_->batch, static_cast<int64_t>(samples.size()));
  }

  std::vector<LayerTiming> layer_timings(const std::function<Nanoseconds()>& now) override {
    const std::vector<uint32_t> samples(static_cast<size_t>(*std::max_element(batch_sizes_.begin(), batch_sizes_.end())), 0);
    prepare(0, samples);
    return network_.run_timed(*plan_, io_.inputs(0), io_.output_addresses(0), now);
  }

 private:
  std::vector<int64_t> batch_sizes_;
  BatchIo& io_;
  Network network_;
  const Network::Plan* plan_ = nullptr;
};

}  // namespace

std::vector<int> threads_by_stream(int threads, int streams) {
  std::vector<int> each;
  for (int i = 0; i < streams; ++i) each.push_back(std::max(1, threads / streams + (i < threads % streams ? 1 : 0)));
  return each;
}

QueryRunners make_network_runners(const Model& model, const LoadOptions& options, const NativeOptions& native, BatchIo& io) {
  const std::vector<int> threads = threads_by_stream(options.threads, native.streams);
  const auto wanted = static_cast<size_t>(std::accumulate(threads.begin(), threads.end(), 0));
  // All of them or none: a stream that shares its CPUs with others would be slower than those beside it.
  const bool pinned = native.pin && wanted <= allowed_cpus().size();
  NetworkSource source(model.graph(), options.precision == Precision::int8 ? Integers::computed_with : Integers::as_operators);
  const bool bf16 = options.precision == Precision::bf16 || options.precision == Precision::mixed;
  QueryRunners runners;
  std::vector<const Network*> networks;
  size_t first_cpu = 0, arenas = 0;
  for (const int own : threads) {
    const NetworkOptions network{.batch_sizes = options.batch_sizes,
                                 .threads = own,
                                 .pin = pinned,
                                 .part = native.part,
                                 .first_cpu = first_cpu,
                                 .compute_type = bf16 ? ComputeType::bf16 : ComputeType::f32,
                                 .sharing = native.sharing};
    auto runner = std::make_unique<NetworkRunner>(source, network, io);
    networks.push_back(&runner->network());
    arenas += runner->network().arena_bytes();
    first_cpu += static_cast<size_t>(own);
    runners.each.push_back(std::move(runner));
  }
  for (int64_t batch : options.batch_sizes) io.reserve(networks[0]->plan_for(batch)->outputs);
  runners.shares = networks.front()->precision_shares();
  runners.bytes = arenas + weight_bytes(networks);
  return runners;
}

}  // namespace deepgap
