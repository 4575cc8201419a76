// Any bytes are a text that comes back unchanged. Any bytes are a tokenizer, or they are refused with a
// ConfigError.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/target.hpp"
#include "trireme/data/tokenizer.hpp"

namespace {

using namespace trireme;
using fuzz::require;

const std::array<std::string, 3> texts{
    "the oars of the trireme, the thranites' oars; it's 62 and 54 and 54",
    "def oars(banks):\n    return sum(banks)\n\n\ndef banks():\n    return 3\n",
    "\xce\xbc\xce\xb5\xcf\x84\xcf\x81\xce\xad\xcf\x89 \xce\xbc\xce\xb5"};
const std::array<data::Tokenizer, 2> tokenizers{data::Tokenizer::make_raw_bytes(),
                                                data::Tokenizer::train(texts, 300)};

void expect_round_trip(const data::Tokenizer& tokenizer, std::string_view text) {
    require(tokenizer.decode(tokenizer.encode(text)) == text, "decode(encode(x)) is not x");
}

void expect_tokenizer_or_refusal(std::string_view serialised) {
    try {
        const data::Tokenizer tokenizer = data::Tokenizer::from_bytes(serialised);
        const std::string bytes = tokenizer.to_bytes();
        require(data::Tokenizer::from_bytes(bytes).to_bytes() == bytes,
                "a tokenizer does not come back from its bytes");
        expect_round_trip(tokenizer, serialised);
    } catch (const ConfigError&) {
    }
}

// A tokenizer's own file with some bytes exchanged or cut away gets further than random bytes do. It is also
// much slower to read, so only one input in eight uses it.
void expect_damage_to_be_seen(std::string_view input) {
    if (input.size() < 3 || static_cast<unsigned char>(input.back()) % 8u != 0) return;
    std::string file = tokenizers[1].to_bytes();
    const std::size_t at =
        (static_cast<unsigned char>(input[0]) * 256u + static_cast<unsigned char>(input[1])) % file.size();
    file.replace(at, static_cast<unsigned char>(input[2]) % 8u, input.substr(3));
    expect_tokenizer_or_refusal(file);
}

}  // namespace

void trireme::fuzz::tokenizer(std::string_view input) {
    for (const data::Tokenizer& tokenizer : tokenizers) expect_round_trip(tokenizer, input);
    expect_tokenizer_or_refusal(input);
    expect_damage_to_be_seen(input);
}
