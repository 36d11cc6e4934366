// The reference kernels: the meaning of every op, in plain scalar C++ with float64 accumulation. Each
// computes items [begin, end) of its own unit of work (the comment says which), so that a backend can share
// it out; items are independent, and the result of a row doesn't depend on the other rows. Results are
// rounded to fp32 once, when stored. Thread-safe.
#pragma once

#include <cstdint>

#include "kernels/args.h"

namespace lirio::ref {

void embed(const EmbedArgs& args, int64_t begin, int64_t end);                    // items: rows
void rms_norm(const RmsNormArgs& args, int64_t begin, int64_t end);               // items: rows
void project(const ProjectArgs& args, int64_t begin, int64_t end);                // items: output features
void causal_conv(const CausalConvArgs& args, int64_t begin, int64_t end);         // items: channels
void gdn_gates(const GdnGatesArgs& args, int64_t begin, int64_t end);             // items: rows
void gated_rms_norm(const GatedRmsNormArgs& args, int64_t begin, int64_t end);    // items: rows
void head_norm_rope(const HeadNormRopeArgs& args, int64_t begin, int64_t end);    // items: rows
void kv_append(const KvAppendArgs& args, int64_t begin, int64_t end);             // items: sequences
void attend(const AttendArgs& args, int64_t begin, int64_t end);                  // items: heads
void sigmoid_gate(const SigmoidGateArgs& args, int64_t begin, int64_t end);       // items: rows
void route(const RouteArgs& args, int64_t begin, int64_t end);                    // items: rows
void experts_gate_up(const ExpertsGateUpArgs& args, int64_t begin, int64_t end);  // items: experts
void experts_down(const ExpertsDownArgs& args, int64_t begin, int64_t end);       // items: output features
void swiglu(const SwiGluArgs& args, int64_t begin, int64_t end);                  // items: rows
void add_residual(const AddResidualArgs& args, int64_t begin, int64_t end);       // items: rows
void add_experts(const AddExpertsArgs& args, int64_t begin, int64_t end);         // items: rows
void logits_head(const LogitsHeadArgs& args, int64_t begin, int64_t end);         // items: vocabulary rows
void sample(const SampleArgs& args, int64_t begin, int64_t end);                  // items: logit rows

/// The gated delta rule from the matrix at the chunk's start and the log since (decision D11). Items: key
/// heads.
void gdn_recurrence_log(const GdnRecurrenceArgs& args, int64_t begin, int64_t end);
/// The same by the plain recurrence, the matrix updated with every token: what gdn_recurrence_log must equal.
void gdn_recurrence_plain(const GdnRecurrenceArgs& args, int64_t begin, int64_t end);

}  // namespace lirio::ref
