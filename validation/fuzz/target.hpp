// The fuzz targets. Each promises something for any bytes, and throws BugError if the promise is broken.
#pragma once

#include <optional>
#include <string_view>

#include "trireme/base/error.hpp"

namespace trireme::fuzz {

void cluster(std::string_view bytes);
void config(std::string_view bytes);
void corpus(std::string_view bytes);
void decisions(std::string_view bytes);
void jsonl(std::string_view bytes);
void layout(std::string_view bytes);
void profile(std::string_view bytes);
void safetensors(std::string_view bytes);
void schedule(std::string_view bytes);
void state(std::string_view bytes);
void tokenizer(std::string_view bytes);
void to_tokenizer_json(std::string_view bytes);

inline void require(bool is_kept, const char* promise) {
    if (!is_kept) throw BugError(promise);
}

// Calls `use` with the result of `read`, unless that refuses the bytes with a ConfigError.
template <class Read, class Use>
void read_or_refuse(Read&& read, Use&& use) {
    const auto found = [&]() -> std::optional<decltype(read())> {
        try {
            return read();
        } catch (const ConfigError&) {
            return std::nullopt;
        }
    }();
    if (found) use(*found);
}

}  // namespace trireme::fuzz
