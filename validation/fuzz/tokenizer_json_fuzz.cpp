// Any text is a tokenizer.json whose tokenizer can be written, read back and used, or it is refused with a
// ConfigError.
#include "fuzz/target.hpp"
#include "trireme/data/tokenizer.hpp"

void trireme::fuzz::to_tokenizer_json(std::string_view bytes) {
    read_or_refuse([&] { return data::Tokenizer::from_bytes(bytes); },
                   [&](const data::Tokenizer& found) {
                       const std::string text = found.to_bytes();
                       require(data::Tokenizer::from_bytes(text).to_bytes() == text,
                               "a tokenizer does not come back from its bytes");
                       require(found.decode(found.encode(bytes)) == bytes, "decode(encode(x)) is not x");
                   });
}
