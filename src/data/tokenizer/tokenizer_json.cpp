// Parses and writes the tokenizer.json of Hugging Face's tokenizers library, for tokenizers with GPT-2's
// algorithm.
#include <algorithm>

#include "data/tokenizer/byte_text.hpp"
#include "data/tokenizer/tokenizer_files.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"

namespace trireme::data {
namespace {

using nlohmann::json;

template <class... Parts>
[[noreturn]] void refuse(const std::string& source, const Parts&... parts) {
    throw ConfigError(cat(source, ' ', parts..., "; Trireme reads only byte-level BPE in the style of GPT-2"));
}

// Returns a copy of a member of a JSON object, or null if the member is missing: the library treats a missing
// member like null.
json find_member(const json& object, const char* key) {
    const auto at = object.find(key);
    return at == object.end() ? json() : *at;
}

bool read_flag(const json& object, const char* key, bool default_value) {
    const json flag = find_member(object, key);
    return flag.is_boolean() ? flag.get<bool>() : default_value;
}

// Returns the library's type of a processing step, such as "ByteLevel" or "NFC", or "none" if there is no step.
std::string read_type(const json& step) {
    if (step.is_null()) return "none";
    const json type = find_member(step, "type");
    return type.is_string() ? type.get<std::string>() : "unnamed";
}

void check_model(const json& model, const std::string& source) {
    const std::string type = model.contains("type") ? read_type(model) : "BPE";  // old files omit it
    if (type != "BPE") refuse(source, "is a ", type, " tokenizer");
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
        const json value = find_member(model, key);
        if (!value.is_null() && value != "" && value != 0.0) refuse(source, "sets ", key, " to ", value.dump());
    }
    for (const char* key : {"byte_fallback", "ignore_merges"})
        if (read_flag(model, key, false)) refuse(source, "sets ", key, " to true");
}

void check_steps(const json& file, const std::string& source) {
    const json pre_tokenizer = find_member(file, "pre_tokenizer");
    if (!find_member(file, "normalizer").is_null())
        refuse(source, "has the normalizer ", read_type(file["normalizer"]));
    if (read_type(pre_tokenizer) != "ByteLevel")
        refuse(source, "has the pre_tokenizer ", read_type(pre_tokenizer), " instead of ByteLevel");
    if (read_flag(pre_tokenizer, "add_prefix_space", true))
        refuse(source, "puts a space before every text (add_prefix_space)");
    if (!read_flag(pre_tokenizer, "use_regex", true))
        refuse(source, "does not split words by GPT-2's pattern (use_regex)");
    const std::string decoder = read_type(find_member(file, "decoder"));
    if (decoder != "ByteLevel") refuse(source, "has the decoder ", decoder, " instead of ByteLevel");
    const json post_processor = find_member(file, "post_processor");
    // A template without special tokens does not change the ids. Recent versions of transformers write one for
    // GPT-2.
    const bool is_template_without_tokens = read_type(post_processor) == "TemplateProcessing" &&
                                            find_member(post_processor, "special_tokens").empty();
    if (!post_processor.is_null() && read_type(post_processor) != "ByteLevel" && !is_template_without_tokens)
        refuse(source, "has the post_processor ", read_type(post_processor), ", which adds tokens to texts");
}

std::vector<std::pair<std::string, std::string>> parse_merges(const json& merges, const std::string& source) {
    if (!merges.is_array()) refuse(source, "has no list of merges");
    std::vector<std::pair<std::string, std::string>> pairs;
    pairs.reserve(merges.size());
    for (const json& merge : merges) {
        if (merge.is_string()) {
            pairs.push_back(parse_merge(merge.get_ref<const std::string&>(), pairs.size() + 1, source));
        } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
            pairs.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
        } else {
            refuse(source, "has a merge that is not a pair of tokens: ", merge.dump());
        }
    }
    return pairs;
}

std::vector<ListedToken> parse_specials(const json& added_tokens, const std::string& source) {
    std::vector<ListedToken> specials;
    if (added_tokens.is_null()) return specials;
    if (!added_tokens.is_array()) refuse(source, "has added_tokens that are not a list");
    for (const json& token : added_tokens) {
        const json content = token.is_object() ? find_member(token, "content") : token;
        if (!token.is_object() || !content.is_string() || content == "")
            refuse(source, "has an added token without content");
        const auto& spelling = content.get_ref<const std::string&>();
        if (!read_flag(token, "special", false))
            refuse(source, "has the added token \"", spelling, "\", which is not special");
        specials.push_back({.spelling = spelling, .id = parse_id(find_member(token, "id"), spelling, source)});
    }
    return specials;
}

json format_merges(const Vocabulary& vocabulary) {
    json merges = json::array();
    for (const Merge& merge : vocabulary.merges)
        merges.push_back(spell_bytes(vocabulary.tokens[merge.left]) + ' ' +
                         spell_bytes(vocabulary.tokens[merge.right]));
    return merges;
}

}  // namespace

Vocabulary parse_tokenizer_json(std::string_view text, const std::string& source) {
    const json file = parse_json<json>(text, source);
    if (!file.is_object() || !find_member(file, "model").is_object())
        refuse(source, "has no \"model\": it is not a tokenizer.json");
    const json& model = file["model"];
    check_model(model, source);
    check_steps(file, source);
    return build_vocabulary({.vocabulary_source = source,
                             .merges_source = source,
                             .tokens = parse_tokens(find_member(model, "vocab"), source),
                             .specials = parse_specials(find_member(file, "added_tokens"), source),
                             .merges = parse_merges(find_member(model, "merges"), source)});
}

std::string to_tokenizer_json(const Vocabulary& vocabulary) {
    json tokens = json::object();
    json added_tokens = json::array();
    const std::vector<std::uint32_t>& specials = vocabulary.specials;
    for (std::uint32_t id = 0; id < vocabulary.tokens.size(); ++id) {
        if (!std::binary_search(specials.begin(), specials.end(), id)) {
            tokens[spell_bytes(vocabulary.tokens[id])] = id;
            continue;
        }
        tokens[vocabulary.tokens[id]] = id;
        added_tokens.push_back({{"id", id},
                                {"content", vocabulary.tokens[id]},
                                {"special", true},
                                {"normalized", false},
                                {"single_word", false},
                                {"lstrip", false},
                                {"rstrip", false}});
    }
    const json byte_level{
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
    json model{{"type", "BPE"}, {"vocab", std::move(tokens)}, {"merges", format_merges(vocabulary)}};
    return json{{"version", "1.0"},          {"added_tokens", std::move(added_tokens)},
                {"normalizer", nullptr},     {"pre_tokenizer", byte_level},
                {"post_processor", nullptr}, {"decoder", byte_level},
                {"model", std::move(model)}}
        .dump();
}

}  // namespace trireme::data
