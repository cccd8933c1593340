#include "worker/load_session.h"

#include "model/model_of.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>

namespace deepgap {
namespace {

class ThrowingBackend final : public Backend {
 public:
  explicit ThrowingBackend(std::function<void()> at_load) : at_load_(std::move(at_load)) {}
  std::string name() const override { return "throwing"; }
  std::string version() const override { return "1"; }
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<DeviceInfo> devices() const override { return {}; }
  std::vector<OptionInfo> options() const override { return {}; }
  Support supports(const EngineRequest&, const GraphSummary&) const override { return {}; }
  std::unique_ptr<Session> load(const Model&, const LoadOptions&) override {
    at_load_();
    return nullptr;
  }

 private:
  std::function<void()> at_load_;
};

Error failure_of(const std::function<void()>& at_load) {
  ThrowingBackend backend(at_load);
  try {
    load_session(backend, *model_of("net", Graph{}), {});
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::internal, "nothing was thrown"};
}

TEST(LoadSession, WhatALibraryThrowsIsARefusalAndNoCrash) {
  const Error odd = failure_of([] { throw std::out_of_range("vector::_M_range_check\nof 3"); });
  EXPECT_EQ(odd.kind(), ErrorKind::refused);
  EXPECT_STREQ(odd.what(), "throwing does not load the model: vector::_M_range_check of 3");
  EXPECT_EQ(failure_of([] { throw Error(ErrorKind::device_lost, "gone"); }).kind(), ErrorKind::device_lost) << "an Error stays itself";
  EXPECT_THROW(failure_of([] { throw std::bad_alloc(); }), std::bad_alloc);
}

}  // namespace
}  // namespace deepgap
