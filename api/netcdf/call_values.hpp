#pragma once
#include <cstddef>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "program_library.hpp"

// The arguments of netCDF's functions as values: a call can be compared with an earlier one, give the results
// of that one, and be made again later. Arguments are numbers, names (const char*), Values, and pointers to
// one result (`char*`: to a name). Any pointer may be null.
namespace sluice::api::netcdf {

/// A list that a function takes (of const values), or gives. It has `*count` values, of void: bytes; for a
/// result that is looked at after the call. Strings may only be taken.
template <class T, class Count>
struct Values {
  T* data;
  const Count* count;

  [[nodiscard]] std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(*count) * sizeof(std::conditional_t<std::is_void_v<T>, char, T>);
  }
};

template <class T>
inline constexpr bool is_text = std::is_same_v<T, const char* const>;

// What the function gets.
template <class T>
T parameter_of(const T& argument) noexcept {
  return argument;
}
template <class T, class Count>
auto parameter_of(const Values<T, Count>& values) noexcept {
  if constexpr (is_text<T>)
    return static_cast<const void*>(values.data);
  else
    return values.data;
}

inline void add_raw(std::string& bytes, const void* data, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  if (count > 0) bytes.append(static_cast<const char*>(data), count);
}

// What is asked, as bytes: equal for equal calls.
template <class T>
void add_question(std::string& question, const T& argument) {
  static_assert(!std::is_const_v<std::remove_pointer_t<T>>, "what is read has to be Values");
  if constexpr (std::is_pointer_v<T>)
    question += argument == nullptr ? '\0' : '\1';
  else
    question.append(reinterpret_cast<const char*>(&argument), sizeof argument);
}
inline void add_question(std::string& question, const char* name) {
  question += name == nullptr ? '\0' : '\1';
  if (name != nullptr) add_raw(question, name, std::strlen(name));
}
template <class T, class Count>
void add_question(std::string& question, const Values<T, Count>& values) {
  question += values.data == nullptr ? '\0' : '\1';
  if constexpr (is_text<T>)
    for (Count i = 0; values.data != nullptr && i < *values.count; ++i)
      add_question(question, values.data[i]);
  else if constexpr (std::is_const_v<T>)
    if (values.data != nullptr) add_raw(question, values.data, values.bytes());
}

// What a call has given, as bytes, in the order of its arguments.
template <class T>
void add_answer(std::string& answer, const T& argument) {
  if constexpr (std::is_pointer_v<T>)
    if (argument != nullptr) answer.append(reinterpret_cast<const char*>(argument), sizeof *argument);
}
inline void add_answer(std::string&, const char*) noexcept {}
inline void add_answer(std::string& answer, char* name) {
  if (name != nullptr) answer.append(name, std::strlen(name) + 1);
}
template <class T, class Count>
void add_answer(std::string& answer, const Values<T, Count>& values) {
  if constexpr (!std::is_const_v<T>)
    if (values.data != nullptr) add_raw(answer, values.data, values.bytes());
}

// The same results once more. `from` goes on behind them.
template <class T>
void give_answer(const char*& from, const T& argument) {
  if constexpr (std::is_pointer_v<T>) {
    if (argument == nullptr) return;
    std::memcpy(argument, from, sizeof *argument);
    from += sizeof *argument;
  }
}
inline void give_answer(const char*&, const char*) noexcept {}
inline void give_answer(const char*& from, char* name) {
  if (name == nullptr) return;
  std::strcpy(name, from);
  from += std::strlen(from) + 1;
}
template <class T, class Count>
void give_answer(const char*& from, const Values<T, Count>& values) {
  if constexpr (!std::is_const_v<T>) {
    if (values.data == nullptr) return;
    std::size_t bytes = 0;
    std::memcpy(&bytes, from, sizeof bytes);
    if (bytes > 0) std::memcpy(values.data, from + sizeof bytes, bytes);
    from += sizeof bytes + bytes;
  }
}

// A function that gives the argument later: it has a copy of what that points to, or room for a result.
template <class T>
auto own(const T& argument) {
  if constexpr (std::is_pointer_v<T>)
    return [is_null = argument == nullptr, result = std::remove_pointer_t<T>{}]() mutable -> T {
      return is_null ? nullptr : &result;
    };
  else
    return [argument] { return argument; };
}
inline auto own(const char* name) {
  return [is_null = name == nullptr, text = std::string(name == nullptr ? "" : name)] {
    return is_null ? nullptr : text.c_str();
  };
}
template <class T, class Count>
auto own(const Values<T, Count>& values) {
  if constexpr (is_text<T>) {
    std::vector<decltype(own(*values.data))> texts;
    for (Count i = 0; values.data != nullptr && i < *values.count; ++i) texts.push_back(own(values.data[i]));
    return [texts, pointers = std::vector<const char*>()]() mutable {
      pointers.clear();
      for (const auto& text : texts) pointers.push_back(text());
      pointers.push_back(nullptr);
      return static_cast<const void*>(pointers.data());
    };
  } else {
    std::string bytes;
    if (values.data != nullptr) bytes.assign(reinterpret_cast<const char*>(values.data), values.bytes());
    return [is_null = values.data == nullptr, bytes]() -> T* {
      return is_null ? nullptr : reinterpret_cast<T*>(bytes.data());
    };
  }
}

/// A call that changes the shadow, to be made later for that group of another shadow.
template <class... Arguments>
auto repetition_of(int group, const char* name, const Arguments&... arguments) {
  return [group, function = std::string(name), owned = std::tuple(own(arguments)...)](
             const ProgramLibrary& library, int shadow) {
    auto values = owned;  // several threads may repeat it
    return std::apply(
        [&](auto&... each) { return library.call(function.c_str(), shadow | group, each()...); }, values);
  };
}

}  // namespace sluice::api::netcdf
