#pragma once

namespace sluice::api {

/// The calls of this thread that have not returned, one within another. Plain memory, as with the last error.
constinit inline thread_local int calls_of_thread = 0;

/// The thread is inside a call of the interface: files that it opens are the library's own.
class CallMark {
 public:
  CallMark() noexcept { ++calls_of_thread; }
  ~CallMark() { --calls_of_thread; }
  CallMark(const CallMark&) = delete;
  CallMark& operator=(const CallMark&) = delete;
};

}  // namespace sluice::api
