#include "cuda/rank_averages.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cstdlib>

namespace deepgap::cuda {
namespace {

// Writes the id as text, since ranks exchange nothing else.
std::string text_of(const NcclId& id) {
  std::string text;
  for (const char byte : id.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

NcclId id_of(const std::string& text) {
  NcclId id{};
  if (text.size() != 2 * sizeof(id.bytes)) throw Error(ErrorKind::internal, "the first rank of the training sent no NCCL id");
  for (size_t i = 0; i < sizeof(id.bytes); ++i) id.bytes[i] = static_cast<char>(std::strtoul(text.substr(2 * i, 2).c_str(), nullptr, 16));
  return id;
}

}  // namespace

void require_equal_devices(const RankExchange& exchange, const std::string& device_name) {
  const std::vector<std::string> all = exchange(device_name);
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all.front())
      throw Error(ErrorKind::refused,
                  fmt::format("processes that train together are for equal devices; the first one has {}, process {} has {}", all.front(),
                              rank + 1, all[rank]));
}

RankAverages::RankAverages(const RankExchange& exchange, int rank, int ranks, const std::string& device_name) {
  const Nccl& library = nccl();  // before the others wait
  require_equal_devices(exchange, device_name);
  NcclId own{};
  if (rank == 0) check_nccl(library.ncclGetUniqueId(&own), "the ranks are invited");
  const NcclId id = id_of(exchange(rank == 0 ? text_of(own) : "").front());
  check_nccl(library.ncclCommInitRank(&rank_, ranks, id, rank), "the ranks meet");
}

RankAverages::~RankAverages() {
  if (rank_ != nullptr) static_cast<void>(nccl().ncclCommAbort(rank_));
}

void RankAverages::begin(std::span<const DeviceFloats> numbers, StreamHandle made) {
  made_.record(made);
  stream_.wait(made_.get());
  const Nccl& library = nccl();
  check_nccl(library.ncclGroupStart(), "gradients are averaged");
  for (const DeviceFloats& part : numbers)
    check_nccl(library.ncclAllReduce(part.data, part.data, part.count, nccl_float32, nccl_average, rank_, stream_.get()),
               "gradients are averaged");
  check_nccl(library.ncclGroupEnd(), "gradients are averaged");
}

void RankAverages::finish(StreamHandle needs) {
  averaged_.record(stream_);
  check(driver().cuStreamWaitEvent(needs, averaged_.get(), 0), "waiting for the averages");
}

}  // namespace deepgap::cuda
