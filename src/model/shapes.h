// The shape numbers that no instance of the model changes: kernels and plans use them as compile-time
// constants. What differs between instances (widths, counts) is in model/config.h. Source: config.json of
// Qwen3.6-35B-A3B.
#pragma once

#include <cstdint>

namespace lirio {

/// Elements of one query, key or value head of full attention; scores are scaled by kHeadDim^-1/2.
inline constexpr int kHeadDim = 256;
/// Leading elements of a query or key head that RoPE rotates (partial_rotary_factor 0.25 of kHeadDim).
inline constexpr int kRotaryDim = 64;
/// Elements of one key or value head of Gated DeltaNet.
inline constexpr int kGdnHeadDim = 128;
/// Taps of the causal depthwise convolution before Gated DeltaNet.
inline constexpr int kConvWidth = 4;
/// Routed experts per token.
inline constexpr int kTopK = 8;
/// Layer i is full attention when i % kFullAttentionInterval == kFullAttentionInterval - 1, Gated DeltaNet
/// otherwise.
inline constexpr int kFullAttentionInterval = 4;

// The state's grid (docs/architecture.md, "State"): absolute positions, the same for every sequence.

/// The recurrent matrix of Gated DeltaNet is kept at multiples of this many tokens, with a log of the tokens
/// since.
inline constexpr int kGdnChunk = 64;
/// Tokens that truncation reaches back at least.
inline constexpr int kReach = 16;
/// Positions in a page of keys and values.
inline constexpr int kKvPageTokens = 64;
/// Rows in a block of the rows kept for the convolution.
inline constexpr int kConvBlockTokens = 4;

}  // namespace lirio
