// Parses and writes the JSON header. The parser is event-based because an untrusted file determines its size
// and depth, and because the order of names and duplicates matter.
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

constexpr std::uint64_t longest_header = 100'000'000;  // bytes; the format's own limit
constexpr std::string_view metadata_name = "__metadata__";
constexpr std::string_view again = "copy or download it again";

class HeaderReader : public nlohmann::json_sax<json> {
public:
    explicit HeaderReader(const std::string& place) : place_(place) {}

    SafetensorsHeader take() { return std::move(header_); }

    bool null() override { refuse_value("null"); }
    bool boolean(bool) override { refuse_value("true or false"); }
    bool number_float(number_float_t, const string_t& text) override { refuse_value(text); }
    bool number_integer(number_integer_t number) override { refuse_value(cat(number)); }
    bool binary(binary_t&) override { refuse_value("bytes"); }

    bool number_unsigned(number_unsigned_t number) override {
        if (depth_ != 3) refuse_value(cat(number));
        if (key_ == "shape") {
            tensor_.shape.push_back(number);
        } else if (offsets_ < 2) {
            (offsets_ == 0 ? tensor_.begin : tensor_.end) = number;
            ++offsets_;
        } else {
            refuse(cat("gives ", in_quotes(tensor_.name), " more than two data_offsets"));
        }
        return true;
    }

    bool string(string_t& value) override {
        if (depth_ != 2) refuse_value(in_quotes(value));
        if (in_metadata_) {
            header_.metadata[key_] = value;
        } else {
            if (key_ != "dtype") refuse_value(in_quotes(value));
            const auto type = stored_type_named(value);
            if (!type)
                throw ConfigError(cat("the header of ", place_, " stores ", in_quotes(tensor_.name), " as ",
                                      in_quotes(value),
                                      ", a type that Trireme does not read; save it as BF16"));
            tensor_.type = *type;
        }
        return true;
    }

    bool start_object(std::size_t) override {
        if (depth_ >= 2) refuse_value("an object");
        ++depth_;
        if (depth_ == 2) keys_.clear();
        return true;
    }

    bool key(string_t& name) override {
        if (depth_ == 1) {
            if (!names_.insert(name).second) refuse(cat("gives the name ", in_quotes(name), " twice"));
            in_metadata_ = name == metadata_name;
            tensor_ = {};
            tensor_.name = name;
            offsets_ = 0;
        } else {
            if (!keys_.insert(name).second)
                refuse(cat("says ", in_quotes(name), " twice of ", in_quotes(owner())));
            if (!in_metadata_ && name != "dtype" && name != "shape" && name != "data_offsets")
                refuse(cat("says ", in_quotes(name), " of ", in_quotes(tensor_.name),
                           ", which the format does not know"));
        }
        key_ = name;
        return true;
    }

    bool end_object() override {
        if (depth_ == 2 && !in_metadata_) finish_tensor();
        --depth_;
        return true;
    }

    bool start_array(std::size_t) override {
        if (depth_ != 2 || in_metadata_ || key_ == "dtype") refuse_value("a list");
        ++depth_;
        return true;
    }
    bool end_array() override {
        --depth_;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        refuse(cat("is no JSON from its byte ", position, " on"));
    }

private:
    [[noreturn]] void refuse(const std::string& fault) const {
        throw ConfigError(cat("the header of ", place_, ' ', fault, "; ", again));
    }
    [[noreturn]] void refuse_value(const std::string& found) const {
        if (depth_ == 0) refuse(cat("is ", found, ", not an object"));
        refuse(cat("says ", found, " where ", in_quotes(owner()), " has another kind of value"));
    }

    std::string_view owner() const { return in_metadata_ ? metadata_name : std::string_view(tensor_.name); }

    void finish_tensor() {
        for (const char* wanted : {"dtype", "shape", "data_offsets"})
            if (!keys_.contains(wanted)) refuse(cat("says no ", wanted, " of ", in_quotes(tensor_.name)));
        if (offsets_ != 2)
            refuse(cat("gives ", in_quotes(tensor_.name), " ", offsets_, " data_offsets, not two"));
        header_.tensors.push_back(std::move(tensor_));
    }

    const std::string& place_;
    SafetensorsHeader header_;
    int depth_ = 0;  // number of open objects and lists
    bool in_metadata_ = false;
    std::string key_;
    StoredTensor tensor_;  // the tensor being read
    int offsets_ = 0;      // of its data_offsets, those read so far
    std::set<std::string, std::less<>> keys_;
    std::set<std::string> names_;
};

bool times(std::uint64_t& product, std::uint64_t factor) {
    return !__builtin_mul_overflow(product, factor, &product);
}

void check_tensor(const StoredTensor& tensor, std::uint64_t expected_begin, std::uint64_t data_bytes,
                  const std::string& place) {
    const std::string what = cat("the header of ", place, " gives ", in_quotes(tensor.name), " the bytes [",
                                 tensor.begin, ", ", tensor.end, ")");
    if (tensor.begin > tensor.end || tensor.end > data_bytes)
        throw ConfigError(cat(what, " of ", data_bytes, "; it is cut short or damaged: ", again));
    if (tensor.begin != expected_begin)
        throw ConfigError(cat(what, ", but the tensor before ends at ", expected_begin,
                              tensor.begin < expected_begin ? ": they overlap; " : ": there is a hole; ",
                              again));
    std::uint64_t bytes = bytes_of(tensor.type);
    bool fits = true;
    for (const std::uint64_t extent : tensor.shape) fits = fits && times(bytes, extent);
    if (!fits || bytes != tensor.bytes())
        throw ConfigError(cat(what, ", but ", name_of(tensor.type), " of shape ", shape_text(tensor.shape),
                              fits ? cat(" is ", bytes, " bytes; ") : " is more than can be counted; ", again));
}

// Returns the position of a type in the order of Hugging Face's library.
int rank_of(StoredType type) {
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

std::uint64_t safetensors_header_bytes(std::span<const std::byte, 8> first, std::uint64_t file_bytes,
                                       const std::string& place) {
    std::uint64_t length = 0;
    for (std::size_t i = first.size(); i-- > 0;)
        length = length << 8 | std::to_integer<std::uint64_t>(first[i]);
    if (file_bytes < first.size() || length > file_bytes - first.size())
        throw ConfigError(cat(place, " says that its header has ", length, " bytes, but the file has ",
                              file_bytes, " in all; it is cut short, or no safetensors file: ", again));
    if (length > longest_header)
        throw ConfigError(cat(place, " says that its header has ", length, " bytes; the format allows ",
                              longest_header, ". It is damaged, or no safetensors file: ", again));
    return length;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                           const std::string& place) {
    // The JSON library stops at a zero byte and accepts leading spaces and byte order marks.
    if (!text.starts_with('{') || text.find('\0') != std::string_view::npos)
        throw ConfigError(cat("the header of ", place, " is no JSON object; it is damaged, or no safetensors ",
                              "file: ", again));
    HeaderReader reader(place);
    json::sax_parse(text.begin(), text.end(), &reader);
    SafetensorsHeader header = reader.take();
    std::stable_sort(header.tensors.begin(), header.tensors.end(),
                     [](const StoredTensor& a, const StoredTensor& b) {
                         return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                     });
    std::uint64_t end = 0;
    for (const StoredTensor& tensor : header.tensors) {
        check_tensor(tensor, end, data_bytes, place);
        end = tensor.end;
    }
    if (end != data_bytes)
        throw ConfigError(cat("the tensors of ", place, " end at byte ", end, " of the ", data_bytes,
                              " after its header; it is damaged: ", again));
    return header;
}

std::string lay_out_safetensors(SafetensorsHeader& header) {
    std::sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
        return std::pair(rank_of(a.type), std::string_view(a.name)) <
               std::pair(rank_of(b.type), std::string_view(b.name));
    });
    nlohmann::ordered_json text = nlohmann::ordered_json::object();
    if (!header.metadata.empty()) text[std::string(metadata_name)] = header.metadata;
    std::uint64_t end = 0;
    for (StoredTensor& tensor : header.tensors) {
        std::uint64_t bytes = bytes_of(tensor.type);
        bool fits = true;
        for (const std::uint64_t extent : tensor.shape) fits = fits && times(bytes, extent);
        if (!fits || text.contains(tensor.name))
            throw BugError(
                cat("the tensor ", tensor.name, " comes twice, or has more bytes than can be counted"));
        tensor.begin = std::exchange(end, end + bytes);
        tensor.end = end;
        text[tensor.name] = {
            {"dtype", name_of(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, end}}};
    }
    std::string line = text.dump();
    line.append((8 - line.size() % 8) % 8, ' ');
    return line;
}

}  // namespace trireme::archive
