#include "record/identity.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

Record on(const std::vector<DeviceId>& devices) {
  Record record;
  record.point.placement.devices = devices;
  record.environment = {{"cpu.model", "AMD EPYC 9654 96-Core Processor"},
                        {"cpu.sockets", int64_t{2}},
                        {"cpu.cores", int64_t{192}},
                        {"memory.total_bytes", int64_t{1511} << 30},
                        {"cpus.allowed", "0,1,2,3"},
                        {"gpu.cuda0.name", "NVIDIA H200"},
                        {"gpu.cuda1.name", "NVIDIA A100-SXM4-40GB"},
                        {"gpu.cuda2.name", "not available: the driver does not say"},
                        {"gpu.cuda3.name", "NVIDIA H200"}};
  return record;
}

TEST(Identity, a_gpu_is_its_model_and_a_cpu_its_model_and_the_cpus_allowed) {
  EXPECT_EQ(identity_of(on({{"", "cuda", 0}})).device, "NVIDIA H200");
  EXPECT_EQ(identity_of(on({{"", "cpu", 0}})).device, "AMD EPYC 9654 96-Core Processor, 4 CPUs");
  EXPECT_EQ(identity_of(on({{"", "cuda", 0}})).machine, "2 x AMD EPYC 9654 96-Core Processor, 192 cores, 1511 GiB");
}

TEST(Identity, several_devices_are_named_once_a_model) {
  EXPECT_EQ(identity_of(on({{"", "cuda", 0}, {"", "cuda", 3}})).device, "NVIDIA H200");
  EXPECT_EQ(identity_of(on({{"", "cuda", 0}, {"", "cuda", 1}})).device, "NVIDIA H200 + NVIDIA A100-SXM4-40GB");
}

TEST(Identity, what_the_record_does_not_tell_is_empty) {
  EXPECT_EQ(identity_of(on({{"", "cuda", 2}})).device, "");
  EXPECT_EQ(identity_of(on({{"", "cuda", 0}, {"", "cuda", 2}})).device, "");
  EXPECT_EQ(identity_of(on({{"node7", "cuda", 0}})).device, "");
  Record early = on({{"", "cpu", 0}});
  early.environment.erase("cpus.allowed");
  EXPECT_EQ(identity_of(early).device, "");
  EXPECT_EQ(identity_of(Record{}).machine, "");
}

TEST(Identity, of_several_processes_the_first_ones_device_stands_for_all) {
  Record record = on({{"", "cuda", 0}, {"", "cuda", 2}});
  record.point.placement.processes = 2;
  EXPECT_EQ(identity_of(record).device, "NVIDIA H200");
}

TEST(Identity, a_brand_alone_is_told_apart_by_family_and_model) {
  Record record = on({{"", "cpu", 0}});
  record.environment["cpu.model"] = "Intel(R) Xeon(R) Processor";
  record.environment["cpu.family"] = int64_t{6};
  record.environment["cpu.model_number"] = int64_t{207};
  EXPECT_EQ(identity_of(record).device, "Intel(R) Xeon(R) Processor (family 6 model 207), 4 CPUs");
}

TEST(Identity, labels_have_the_short_name) {
  EXPECT_EQ(short_device_name("NVIDIA H200"), "H200");
  EXPECT_EQ(short_device_name("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz, 2 CPUs"), "Xeon Platinum 8481C 2.70GHz, 2 CPUs");
  EXPECT_EQ(short_device_name("AMD EPYC 9654 96-Core Processor, 4 CPUs"), "EPYC 9654 96-Core, 4 CPUs");
}

}  // namespace
}  // namespace deepgap
