// LoadedOrder: the Sessions of one order, loaded, and how units of work get to them: bare, through a Dispatcher, or end to end from
// picture files.
//
// Life: load (or take over from the order before), each Session alone (so that each can be checked), join(), drive. What it was made from
// outlives it. Used by the worker's main thread.
#pragma once

#include "worker/instances.h"
#include "worker/order_context.h"

#include <deepgap/backend.h>

#include <memory>
#include <optional>

namespace deepgap {

struct KeptSessions;
struct SessionsCheck;

class LoadedOrder {
 public:
  ~LoadedOrder();
  LoadedOrder(const LoadedOrder&) = delete;
  LoadedOrder& operator=(const LoadedOrder&) = delete;
  // Throws what Backend::load does. Over the context's turns ranks of a training find each other while they load.
  LoadedOrder(const OrderContext& context, Backend& backend);

  double compile_s() const { return compile_s_; }
  Facts facts();  // session.shared, session.slots, cpus.affinity, streams.note, end_to_end.*, compile.*
  Instances& instances() { return *instances_; }
  // One Session's own, fed as all of them will be; valid until let_go(), which comes before the next one and before join().
  Target& alone(const Instances::Instance& instance);
  void let_go() { end_to_end_.reset(); }
  // What the check of these Sessions found when the order that loaded them made it; nullptr: it is to be made.
  const SessionsCheck* known_check() const;
  // The order has ended well: the next one may take the Sessions over.
  void keep(SessionsCheck checked);
  Target& join();                                             // what is driven
  EndToEndTarget* end_to_end() { return end_to_end_.get(); }  // nullptr: queries begin with inputs in memory

 private:
  void load(const OrderContext& context, Backend& backend, const LoadOptions& options);
  Facts load_parts();
  Dataset& session_inputs();
  Target& fed(Target& target, int64_t pipeline_slots, int64_t batch);
  std::string streams_note();

  const WorkOrder& order_;
  const Preparation& prepared_;
  const Group::Inputs& inputs_;
  Clock& clock_;
  Group& group_;
  double compile_s_ = 0;
  std::string affinity_;
  std::string key_;                            // sessions_key()
  std::unique_ptr<KeptSessions> taken_;        // without its Instances
  std::optional<InputBuffers> input_buffers_;  // end to end: of the Sessions, which must go first
  std::optional<Instances> instances_;
  std::unique_ptr<EndToEndTarget> end_to_end_;  // around a Session of instances_ while it is checked, then around all joined
};

}  // namespace deepgap
