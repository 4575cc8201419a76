// Parses and writes the JSON header. The parser is event-based because an untrusted file determines the size
// and depth of the header, and because duplicate names must be detected.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "trireme/archive/float_types.hpp"
#include "trireme/archive/safetensors.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::archive {
namespace {

using nlohmann::json;

constexpr std::uint64_t max_header_bytes = 100'000'000;  // bytes; the format's own limit
constexpr std::string_view metadata_name = "__metadata__";
constexpr std::string_view repair_advice = "copy or download the file again";

// Collects the header from the events of the JSON parser. Depth 1 is the header, 2 a tensor or the metadata, 3
// a list.
class HeaderReader : public nlohmann::json_sax<json> {
public:
    explicit HeaderReader(const std::string& source) : source_(source) {}

    SafetensorsHeader take_header() { return std::move(header_); }

    bool null() override { refuse_value("null"); }
    bool boolean(bool) override { refuse_value("true or false"); }
    bool number_float(number_float_t, const string_t& text) override { refuse_value(text); }
    bool number_integer(number_integer_t number) override { refuse_value(cat(number)); }
    bool binary(binary_t&) override { refuse_value("bytes"); }

    bool number_unsigned(number_unsigned_t number) override {
        if (depth_ != 3) refuse_value(cat(number));
        if (key_ == "shape") {
            tensor_.shape.push_back(number);
        } else if (offset_count_ < 2) {
            (offset_count_ == 0 ? tensor_.begin : tensor_.end) = number;
            ++offset_count_;
        } else {
            refuse(cat("gives ", quote_text(tensor_.name), " more than two data_offsets"));
        }
        return true;
    }

    bool string(string_t& value) override {
        if (depth_ != 2) refuse_value(quote_text(value));
        if (is_in_metadata_) {
            header_.metadata[key_] = value;
        } else {
            if (key_ != "dtype") refuse_value(quote_text(value));
            const auto type = parse_stored_type(value);
            if (!type)
                throw ConfigError(cat("the header of ", source_, " stores ", quote_text(tensor_.name), " as ",
                                      quote_text(value),
                                      ", a type that Trireme does not read; save the tensor as BF16"));
            tensor_.type = *type;
        }
        return true;
    }

    bool start_object(std::size_t) override {
        if (depth_ >= 2) refuse_value("an object");
        ++depth_;
        if (depth_ == 2) seen_keys_.clear();
        return true;
    }

    bool key(string_t& name) override {
        if (depth_ == 1) {
            if (!seen_names_.insert(name).second) refuse(cat("gives the name ", quote_text(name), " twice"));
            is_in_metadata_ = name == metadata_name;
            tensor_ = {};
            tensor_.name = name;
            offset_count_ = 0;
        } else {
            if (!seen_keys_.insert(name).second)
                refuse(cat("gives ", quote_text(name), " twice for ", quote_text(owner_name())));
            if (!is_in_metadata_ && name != "dtype" && name != "shape" && name != "data_offsets")
                refuse(cat("gives ", quote_text(name), " for ", quote_text(tensor_.name),
                           ", but the safetensors format has no such key"));
        }
        key_ = name;
        return true;
    }

    bool end_object() override {
        if (depth_ == 2 && !is_in_metadata_) finish_tensor();
        --depth_;
        return true;
    }

    bool start_array(std::size_t) override {
        if (depth_ != 2 || is_in_metadata_ || key_ == "dtype") refuse_value("a list");
        ++depth_;
        return true;
    }
    bool end_array() override {
        --depth_;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        refuse(cat("is not valid JSON from byte ", position, " on"));
    }

private:
    [[noreturn]] void refuse(const std::string& fault) const {
        throw ConfigError(cat("the header of ", source_, ' ', fault, "; ", repair_advice));
    }
    [[noreturn]] void refuse_value(const std::string& found) const {
        if (depth_ == 0) refuse(cat("is ", found, ", not an object"));
        refuse(
            cat("gives ", found, " for ", quote_text(owner_name()), " where the format requires another type"));
    }

    std::string_view owner_name() const {
        return is_in_metadata_ ? metadata_name : std::string_view(tensor_.name);
    }

    void finish_tensor() {
        for (const char* required_key : {"dtype", "shape", "data_offsets"})
            if (!seen_keys_.contains(required_key))
                refuse(cat("gives no ", required_key, " for ", quote_text(tensor_.name)));
        if (offset_count_ != 2)
            refuse(cat("gives ", quote_text(tensor_.name), " ", offset_count_, " data_offsets, not two"));
        header_.tensors.push_back(std::move(tensor_));
    }

    const std::string& source_;
    SafetensorsHeader header_;
    int depth_ = 0;  // number of open objects and lists
    bool is_in_metadata_ = false;
    std::string key_;
    StoredTensor tensor_;                           // the tensor being read
    int offset_count_ = 0;                          // number of its data_offsets that were read so far
    std::set<std::string, std::less<>> seen_keys_;  // keys of the current tensor or of the metadata
    std::set<std::string> seen_names_;              // names of tensors, and __metadata__
};

// Multiplies `result` by `factor`. Returns false if the result overflows.
bool multiply_checked(std::uint64_t& result, std::uint64_t factor) {
    return !__builtin_mul_overflow(result, factor, &result);
}

// Throws ConfigError unless the tensor's bytes begin at `expected_begin`, end within the `data_bytes` bytes of
// tensors, and fit the tensor's type and shape.
void check_tensor(const StoredTensor& tensor, std::uint64_t expected_begin, std::uint64_t data_bytes,
                  const std::string& source) {
    const std::string what = cat("the header of ", source, " gives ", quote_text(tensor.name), " the bytes [",
                                 tensor.begin, ", ", tensor.end, ")");
    if (tensor.begin > tensor.end || tensor.end > data_bytes)
        throw ConfigError(cat(what, ", but ", data_bytes,
                              " bytes follow the header; the file is cut short or damaged: ", repair_advice));
    if (tensor.begin != expected_begin)
        throw ConfigError(cat(what, ", but the previous tensor ends at byte ", expected_begin,
                              tensor.begin < expected_begin ? ": the two overlap; " : ": there is a gap; ",
                              repair_advice));
    std::uint64_t bytes = byte_size(tensor.type);
    bool is_countable = true;  // false if `bytes` overflows
    for (const std::uint64_t extent : tensor.shape)
        is_countable = is_countable && multiply_checked(bytes, extent);
    if (!is_countable || bytes != tensor.count_bytes())
        throw ConfigError(
            cat(what, ", but ", to_string(tensor.type), " of shape ", format_shape(tensor.shape),
                is_countable ? cat(" needs ", bytes, " bytes; ") : " needs more bytes than 64 bits can count; ",
                repair_advice));
}

// Returns the position of a type in the sort order of Hugging Face's library.
int find_sort_rank(StoredType type) {
    switch (type) {
        case StoredType::u64:
            return 0;
        case StoredType::i64:
            return 1;
        case StoredType::f64:
            return 2;
        case StoredType::f32:
            return 3;
        case StoredType::u32:
            return 4;
        case StoredType::i32:
            return 5;
        case StoredType::bf16:
            return 6;
        case StoredType::f16:
            return 7;
        case StoredType::u16:
            return 8;
        case StoredType::i16:
            return 9;
        case StoredType::i8:
            return 10;
        case StoredType::u8:
            return 11;
        case StoredType::boolean:
            break;
    }
    return 12;
}

}  // namespace

std::uint64_t parse_safetensors_header_bytes(std::span<const std::byte, 8> first, std::uint64_t file_bytes,
                                             const std::string& source) {
    std::uint64_t length = 0;
    for (std::size_t i = first.size(); i-- > 0;)
        length = length << 8 | std::to_integer<std::uint64_t>(first[i]);
    if (file_bytes < first.size() || length > file_bytes - first.size())
        throw ConfigError(cat(source, " says that its header has ", length, " bytes, but the file has ",
                              file_bytes,
                              " in all; it is cut short or is not a safetensors file: ", repair_advice));
    if (length > max_header_bytes)
        throw ConfigError(cat(source, " says that its header has ", length, " bytes, but the format allows ",
                              max_header_bytes,
                              "; it is damaged or is not a safetensors file: ", repair_advice));
    return length;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                           const std::string& source) {
    // This check is needed because the JSON library stops at a zero byte, and accepts leading spaces and byte
    // order marks.
    if (!text.starts_with('{') || text.find('\0') != std::string_view::npos)
        throw ConfigError(cat("the header of ", source,
                              " is not a JSON object; the file is damaged or is not a ",
                              "safetensors file: ", repair_advice));
    HeaderReader reader(source);
    json::sax_parse(text.begin(), text.end(), &reader);
    SafetensorsHeader header = reader.take_header();
    std::stable_sort(header.tensors.begin(), header.tensors.end(),
                     [](const StoredTensor& a, const StoredTensor& b) {
                         return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                     });
    std::uint64_t end = 0;
    for (const StoredTensor& tensor : header.tensors) {
        check_tensor(tensor, end, data_bytes, source);
        end = tensor.end;
    }
    if (end != data_bytes)
        throw ConfigError(cat("the tensors of ", source, " end at byte ", end, ", but ", data_bytes,
                              " bytes follow its header; the file is damaged: ", repair_advice));
    return header;
}

std::string make_safetensors_header(SafetensorsHeader& header) {
    std::sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
        return std::pair(find_sort_rank(a.type), std::string_view(a.name)) <
               std::pair(find_sort_rank(b.type), std::string_view(b.name));
    });
    nlohmann::ordered_json text = nlohmann::ordered_json::object();
    if (!header.metadata.empty()) text[std::string(metadata_name)] = header.metadata;
    std::uint64_t end = 0;
    for (StoredTensor& tensor : header.tensors) {
        std::uint64_t bytes = byte_size(tensor.type);
        bool is_countable = true;  // false if `bytes` overflows
        for (const std::uint64_t extent : tensor.shape)
            is_countable = is_countable && multiply_checked(bytes, extent);
        if (!is_countable || text.contains(tensor.name))
            throw BugError(
                cat("the tensor ", tensor.name, " is listed twice, or has more bytes than 64 bits can count"));
        tensor.begin = std::exchange(end, end + bytes);
        tensor.end = end;
        text[tensor.name] = {
            {"dtype", to_string(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, end}}};
    }
    std::string line = text.dump();
    line.append((8 - line.size() % 8) % 8, ' ');
    return line;
}

}  // namespace trireme::archive
