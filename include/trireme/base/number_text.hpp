// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trireme {

std::string with_commas(std::uint64_t number);                    // 1,234,567
std::string bytes_text(std::uint64_t bytes);                      // "28.7 GB"; below 1 GB "7.2 MB"
std::string counted(std::uint64_t count, std::string_view noun);  // "1 rank", "1,024 ranks", "2 micro-batches"

}  // namespace trireme
