#include "model/ops.h"

#include <type_traits>

namespace lirio {
namespace {

Operands of(const Embed& op) {
  return {{}, {op.out}};
}
Operands of(const RmsNorm& op) {
  return {{op.x}, {op.out}};
}
Operands of(const Project& op) {
  return {{op.x}, {op.out}};
}
Operands of(const CausalConv& op) {
  return {{op.u}, {op.out}};
}
Operands of(const GdnGates& op) {
  return {{op.a, op.b}, {op.decay, op.beta}};
}
Operands of(const GdnRecurrence& op) {
  return {{op.qkv, op.decay, op.beta}, {op.out}};
}
Operands of(const GatedRmsNorm& op) {
  return {{op.x, op.z}, {op.out}};
}
Operands of(const HeadNormRope& op) {
  return {{op.x}, {op.out}};
}
Operands of(const KvAppend& op) {
  return {{op.k, op.v}, {}};
}
Operands of(const Attend& op) {
  return {{op.q}, {op.out}};
}
Operands of(const SigmoidGate& op) {
  return {{op.x, op.q_gate}, {op.out}};
}
Operands of(const Route& op) {
  return {{op.router_logits}, {op.experts, op.weights}};
}
Operands of(const ExpertsGateUp& op) {
  return {{op.x, op.experts}, {op.out}};
}
Operands of(const ExpertsDown& op) {
  return {{op.x, op.experts, op.weights}, {op.out}};
}
Operands of(const SwiGlu& op) {
  return {{op.gate, op.up}, {op.out}};
}
Operands of(const AddResidual& op) {
  return {{op.x, op.y}, {op.out}};
}
Operands of(const AddExperts& op) {
  return {{op.x, op.routed, op.shared, op.shared_gate}, {op.out}};
}
Operands of(const LogitsHead& op) {
  return {{op.x}, {op.out}};
}
Operands of(const Sample& op) {
  return {{op.logits}, {op.token}};
}

}  // namespace

const char* op_kind(const Op& op) {
#define LIRIO_NAME(Kind) #Kind,
  static constexpr const char* kNames[] = {LIRIO_OPS(LIRIO_NAME)};
#undef LIRIO_NAME
  static_assert(std::size(kNames) == std::variant_size_v<Op>);
  return kNames[op.index()];
}

Operands operands(const Op& op) {
  return std::visit([](const auto& kind) { return of(kind); }, op);
}

}  // namespace lirio
