#include "text/text_gate.h"

#include <algorithm>

namespace lirio {

void TextGate::add(std::string_view text) {
  const auto match = matcher_.push(text);
  if (!match) {
    tail_ += text;
    return;
  }
  tail_ += text.substr(0, match->end_bytes);
  // What may be part of a stop string is never released, so all of it is still here.
  tail_.resize(tail_.size() - match->length_bytes);
  stopped_ = true;
}

void TextGate::append(std::string_view text) {
  if (stopped_) return;
  const std::size_t begin = tail_.size();
  add(text);
  if (stopped_) return;
  const std::size_t last = text.find_last_not_of(kLayoutSpace);
  if (last == std::string_view::npos) return;
  run_begin_ = begin + last + 1;
  droppable_at_ = kNone;
  run_is_separator_ = false;
  started_ = true;
}

void TextGate::append_droppable(std::string_view piece) {
  if (stopped_) return;
  if (droppable_at_ == kNone) droppable_at_ = tail_.size();
  add(piece);
}

void TextGate::release(std::string& out) {
  const std::size_t certain =
      stopped_ ? tail_.size() : std::min(run_begin_, tail_.size() - matcher_.held_bytes());
  if (certain == 0) return;
  out.append(tail_, 0, certain);
  tail_.erase(0, certain);
  run_begin_ -= std::min(run_begin_, certain);
  if (droppable_at_ != kNone) droppable_at_ -= std::min(droppable_at_, certain);
}

void TextGate::interrupt(std::string& out) {
  if (stopped_) return;
  out.append(tail_, 0, run_begin_);
  if (droppable_at_ != kNone) tail_.resize(droppable_at_);
  tail_.erase(0, started_ ? run_begin_ : tail_.size());
  run_begin_ = 0;
  droppable_at_ = kNone;
  run_is_separator_ = true;
  matcher_.reset();
}

void TextGate::finish(std::string& out) {
  const bool drop_run = !stopped_ && (droppable_at_ != kNone || run_is_separator_);
  out.append(tail_, 0, drop_run ? run_begin_ : tail_.size());
  tail_.clear();
  run_begin_ = 0;
}

}  // namespace lirio
