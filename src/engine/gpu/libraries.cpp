#include "engine/gpu/libraries.h"

#include "base/text.h"
#include "engine/gpu/library_convolutions.h"
#include "engine/gpu/library_products.h"

#include <deepgap/error.h>

#include <array>

namespace deepgap::gpu {
namespace {

// nullptr where it is missing, too old, or for another driver: own kernels do without it. Memory and the device are another matter.
template <typename Library>
std::shared_ptr<const Library> started() {
  try {
    return std::make_shared<const Library>();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::device_lost) throw;
    return nullptr;
  }
}

// A problem that a library does not take is one that it does not do.
template <typename Library, typename Offer>
void add(std::vector<ConvolutionVariant>& variants, const Convolution& problem, const Chip& chip,
         const std::shared_ptr<const Library>& library, Offer offer) {
  if (library == nullptr) return;
  try {
    for (ConvolutionVariant& variant : offer(problem, chip, library)) variants.push_back(std::move(variant));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::device_lost) throw;
  }
}

struct Described {
  std::string version, path, absence;  // "cuDNN 9.19.0"
};
template <typename Opened>
Described described(const std::string& title, Opened opened) {
  try {
    return {title + " " + opened().version(), opened().path, {}};
  } catch (const Error& error) {
    return {{}, {}, error.what()};
  }
}
std::array<Described, 2> all_described() { return {described("cuBLASLt", cuda::cublas_lt), described("cuDNN", cuda::cudnn)}; }

}  // namespace

std::vector<ConvolutionVariant> Libraries::variants(const Convolution& problem, const Chip& chip) {
  if (!asked_) products_ = started<cuda::LtLibrary>(), convolutions_ = started<cuda::DnnLibrary>();
  asked_ = true;
  std::vector<ConvolutionVariant> offered;
  add(offered, problem, chip, products_, cublas_lt_variants);
  add(offered, problem, chip, convolutions_, cudnn_variants);
  return offered;
}

std::string library_versions() {
  std::vector<std::string> versions;
  for (const Described& one : all_described())
    if (one.absence.empty()) versions.push_back(one.version);
  return join(versions, ", ");
}

std::string library_description() {
  std::vector<std::string> texts;
  for (const Described& one : all_described()) texts.push_back(one.absence.empty() ? one.version + ", " + one.path : one.absence);
  return join(texts, "; ");
}

}  // namespace deepgap::gpu
