#include "record/identity.h"

#include "record/tuning_mark.h"

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

TEST(Identity, containers_of_unlike_size_are_two_devices) {
  const auto device = [](const Facts& limits) {
    Record record = on({{"", "cpu", 0}});
    for (const auto& [name, fact] : limits) record.environment[name] = fact;
    return identity_of(record).device;
  };
  const std::string whole = "AMD EPYC 9654 96-Core Processor, 4 CPUs";
  const int64_t gib = int64_t{1} << 30;
  EXPECT_EQ(device({{"cgroup.cpu_quota", std::string("none")}, {"cgroup.memory_limit_bytes", std::string("none")}}), whole);
  EXPECT_EQ(device({{"cgroup.cpu_quota", std::string("not available: no control group")}}), whole) << "as older stores have it";
  EXPECT_EQ(device({{"cgroup.cpu_quota", 4.0}, {"cgroup.memory_limit_bytes", 1511 * gib}}), whole) << "which limits nothing";
  EXPECT_EQ(device({{"cgroup.cpu_quota", 2.5}, {"cgroup.memory_limit_bytes", 8 * gib}}), whole + ", CPU quota 2.5, memory limit 8 GiB");
  EXPECT_EQ(device({{"cgroup.cpu_quota", int64_t{2}}}), whole + ", CPU quota 2") << "a whole number may be read back as one";
  EXPECT_EQ(device({{"cgroup.memory_limit_bytes", gib / 2}}), whole + ", memory limit 0.5 GiB");
}

TEST(Identity, a_file_is_known_by_its_content_and_not_by_its_path) {
  Point one, other;
  one.model = "/a/net.onnx";
  other.model = "/b/net.onnx";
  EXPECT_NE(model_key(one), model_key(other)) << "nobody has read them yet";
  one.model_hash = other.model_hash = "0123";
  EXPECT_EQ(model_key(one), model_key(other));
  EXPECT_EQ(workload_key(one), workload_key(other));
}

TEST(Identity, keys_have_what_changes_outputs_and_nothing_that_changes_speed_alone) {
  const Point plain;
  Point faster = plain, seeded = plain, labelled = plain;
  faster.batch = 64;
  faster.threads = 8;
  faster.options = {{"streams", "4"}};
  EXPECT_EQ(reference_subject(faster), reference_subject(plain));
  seeded.options = {{"seed", "7"}};
  EXPECT_NE(model_key(seeded), model_key(plain));
  EXPECT_NE(dataset_key(seeded), dataset_key(plain));
  EXPECT_EQ(workload_key(seeded), workload_key(plain)) << "a line of the same chart";
  labelled.options = {{"labels", "a.txt|b"}};
  EXPECT_EQ(model_key(labelled), model_key(plain));
  EXPECT_NE(dataset_key(labelled), dataset_key(plain));
  EXPECT_NE(identity_of(labelled, {}), identity_of(plain, {}));
}

TEST(TuningMark, of_older_stores_is_told_from_the_option_of_native) {
  Point old, asked;
  old.options = {{"tune", "confirm"}};
  asked.options = {{"tune", "quick"}};
  EXPECT_EQ(with_tuning_mark(old).options, (std::map<std::string, std::string>{{tuning_mark, "confirm"}}));
  EXPECT_EQ(with_tuning_mark(asked), asked);
}

TEST(Identity, labels_have_the_short_name) {
  EXPECT_EQ(short_device_name("NVIDIA H200"), "H200");
  EXPECT_EQ(short_device_name("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz, 2 CPUs"), "Xeon Platinum 8481C 2.70GHz, 2 CPUs");
  EXPECT_EQ(short_device_name("AMD EPYC 9654 96-Core Processor, 4 CPUs"), "EPYC 9654 96-Core, 4 CPUs");
}

}  // namespace
}  // namespace deepgap
