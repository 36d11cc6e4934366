// What    out_t = silu(sum_{j=0..3} weight[j] u_{t-3+j}) per channel; rows before the sequence's start are
// zero.
//         The rows of the step that the state keeps are stored before the convolution.
// Layout  u, out [rows, channels]; weight [channels, 4], tap 3 on the current row; blocks [4, channels] by
// position Map     one channel an item; reads rows before the step from the blocks, writes only the step's
// own rows into them Round   once, to fp32 Moves   8 bytes an element
#include "kernels/ref/kernels.h"
#include "kernels/ref/math.h"

namespace lirio::ref {
namespace {

struct ChannelHistory {
  const CausalConvArgs& args;
  const ConvSequence& sequence;

  double at(int64_t position, int64_t channel) const {
    if (position < 0) return 0.0;
    const RowSpan& span = sequence.span;
    if (position >= span.start) {
      return args.u[(span.first_row + position - span.start) * args.channels + channel];
    }
    const float* block = sequence.blocks.at(position / kConvBlockTokens);
    return block[position % kConvBlockTokens * args.channels + channel];
  }
};

}  // namespace

void causal_conv(const CausalConvArgs& args, int64_t begin, int64_t end) {
  for (const ConvSequence& sequence : args.sequences) {
    const RowSpan& span = sequence.span;
    const ChannelHistory history{args, sequence};
    for (int64_t i = 0; i < span.rows; ++i) {
      const int64_t position = span.start + i;
      float* block = sequence.blocks.at(position / kConvBlockTokens);
      for (int64_t channel = begin; channel < end; ++channel) {
        double sum = 0;
        for (int tap = 0; tap < kConvWidth; ++tap) {
          sum += double{args.weight[channel * kConvWidth + tap]} *
                 history.at(position - (kConvWidth - 1) + tap, channel);
        }
        args.out[(span.first_row + i) * args.channels + channel] = static_cast<float>(silu(sum));
        if (block != nullptr) {
          block[position % kConvBlockTokens * args.channels + channel] =
              args.u[(span.first_row + i) * args.channels + channel];
        }
      }
    }
  }
}

}  // namespace lirio::ref
