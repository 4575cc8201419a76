// Any bytes are a safetensors file whose tensors tile the data after its header, or they are refused with a
// ConfigError.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/target.hpp"
#include "trireme/archive/safetensors.hpp"

namespace {

using namespace trireme;
using fuzz::require;

// Headers that are nearly right get further than random bytes do. The length that a file states before its
// header is taken to be right.
const std::array<std::string, 6> headers{
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
    R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}}      )",
    R"({"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"e":{"dtype":"U8","shape":[0,9],"data_offsets":[8,8]}})",
    R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
    R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[18446744073709551608,18446744073709551615]}})",
    R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
    R"({"a":{"dtype":"U8","shape":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[)"};

void expect_tiles(const archive::SafetensorsHeader& header, std::uint64_t data_bytes) {
    std::uint64_t end = 0;
    for (const archive::StoredTensor& tensor : header.tensors) {
        require(tensor.begin == end && tensor.end >= end, "tensors overlap or leave a hole");
        end = tensor.end;
    }
    require(end == data_bytes, "tensors do not end where the file does");
}

// A header that was read can be written, and reads back unchanged.
void expect_round_trip(archive::SafetensorsHeader header, std::uint64_t data_bytes) {
    const std::string text = make_safetensors_header(header);
    require(text.size() % 8 == 0, "a header is not padded");
    archive::SafetensorsHeader again = archive::parse_safetensors_header(text, data_bytes, "again");
    require(again.metadata == header.metadata && again.tensors.size() == header.tensors.size(),
            "a header does not come back");
    require(make_safetensors_header(again) == text, "a header comes back as another");
}

void expect_header_or_refusal(std::string_view text, std::uint64_t data_bytes) {
    archive::SafetensorsHeader header;
    try {
        header = archive::parse_safetensors_header(text, data_bytes, "the input");
    } catch (const ConfigError&) {
        return;
    }
    expect_tiles(header, data_bytes);
    expect_round_trip(header, data_bytes);
}

void expect_file_or_refusal(std::string_view bytes) {
    if (bytes.size() < 8) return;
    std::uint64_t length = 0;
    try {
        const auto first = std::as_bytes(std::span(bytes)).first<8>();
        length = archive::parse_safetensors_header_bytes(first, bytes.size(), "the input");
    } catch (const ConfigError&) {
        return;
    }
    require(length <= bytes.size() - 8, "a header is longer than its file");
    expect_header_or_refusal(bytes.substr(8, length), bytes.size() - 8 - length);
}

// The first bytes of the input choose a header, a position in it, how much is cut out there, and how many bytes
// of tensors follow. The other bytes are inserted there.
void expect_damage_to_be_seen(std::string_view input) {
    if (input.size() < 4) return;
    const auto number = [&](std::size_t i) {
        return static_cast<std::size_t>(static_cast<unsigned char>(input[i]));
    };
    std::string text = headers[number(0) % headers.size()];
    text.replace(number(1) % text.size(), number(2) % 16, input.substr(4, 32));
    expect_header_or_refusal(text, number(3));
}

}  // namespace

void trireme::fuzz::safetensors(std::string_view input) {
    expect_file_or_refusal(input);
    expect_header_or_refusal(input, input.size());
    expect_damage_to_be_seen(input);
    for (const std::string& header : headers) expect_header_or_refusal(header, input.size() % 32);
}
