#include "data/task_fit.hpp"

#include <algorithm>
#include <vector>

#include "data/corpus/schema.hpp"
#include "data/span_rows.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

std::vector<Task> tasks_of(RowKind kind) {
    switch (kind) {
        case RowKind::text:
            return {Task::language, Task::masked};
        case RowKind::labelled_text:
            return {Task::language, Task::masked, Task::classify};
        case RowKind::question:
            return {Task::language, Task::masked, Task::span};
        case RowKind::image:
            return {Task::classify};
    }
    throw BugError("unknown kind of rows");
}

void check_kind(const CorpusInfo& corpus, Task task) {
    const std::vector<Task> tasks = tasks_of(corpus.kind);
    if (std::find(tasks.begin(), tasks.end(), task) != tasks.end()) return;
    std::string names;
    for (const Task served : tasks) names += cat(names.empty() ? "" : ", ", name_of(served));
    throw ConfigError(cat(corpus.path, " holds rows of the kind \"", name_of(corpus.kind),
                          "\", which serve the task ", names, ", not ", name_of(task),
                          "; choose another task, or another corpus"));
}

std::vector<std::optional<std::uint32_t> SpecialTokens::*> needed_specials(Task task) {
    switch (task) {
        case Task::language:
            return {};
        case Task::masked:
            return {&SpecialTokens::classify, &SpecialTokens::separator, &SpecialTokens::mask};
        case Task::span:
        case Task::classify:
            return {&SpecialTokens::classify, &SpecialTokens::separator};
    }
    throw BugError("unknown task");
}

void check_specials(const CorpusInfo& corpus, Task task) {
    const auto needed = needed_specials(task);
    std::string missing;
    for (const corpus_schema::SpecialName& name : corpus_schema::special_names)
        if (std::find(needed.begin(), needed.end(), name.token) != needed.end() &&
            !(corpus.special.*name.token))
            missing += cat(missing.empty() ? "" : ", ", name.spelling);
    if (!missing.empty())
        throw ConfigError(cat("the tokenizer ", corpus.tokenizer_name, " of ", corpus.path, " has no token ",
                              missing, ", which the task ", name_of(task),
                              " needs; prepare the corpus with --special-tokens bert"));
}

void check_room(const SampleRules& rules) {
    std::size_t specials = 0;
    if (rules.task == Task::span) specials = span_specials;
    if (rules.task == Task::masked || rules.task == Task::classify) specials = framing_specials;
    if (rules.max_length <= specials)
        throw ConfigError(cat("--max-length ", rules.max_length, " leaves no room for a token beside the ",
                              specials, " special ones of the task ", name_of(rules.task), "; give at least ",
                              specials + 1));
}

bool makes_patches(const ImageSize& image, std::size_t patches) {
    for (std::size_t edge = 1; edge <= std::min(image.height, image.width); ++edge)
        if (image.height % edge == 0 && image.width % edge == 0 &&
            (image.height / edge) * (image.width / edge) == patches)
            return true;
    return false;
}

void check_image(const CorpusInfo& corpus, const SampleRules& rules) {
    const ImageSize& image = corpus.image;
    if (rules.image_rows < 2 || !makes_patches(image, rules.image_rows - 1))
        throw ConfigError(cat(corpus.path, " holds images of ", image.channels, " x ", image.height, " x ",
                              image.width, " pixels, which no square patches cut into the model's ",
                              rules.image_rows, " rows (a class token and the patches); ",
                              "choose the image size and patch of the model to fit"));
    if (rules.max_length < rules.image_rows)
        throw ConfigError(cat("an image of ", corpus.path, " takes ", rules.image_rows,
                              " rows, more than --max-length ", rules.max_length, "; give at least ",
                              rules.image_rows));
}

}  // namespace

void check_fit(const CorpusInfo& corpus, const SampleRules& rules) {
    check_kind(corpus, rules.task);
    if (corpus.kind == RowKind::image) return check_image(corpus, rules);
    if (rules.task == Task::language && rules.append_end && !corpus.special.end)
        throw ConfigError(cat("the tokenizer ", corpus.tokenizer_name, " of ", corpus.path,
                              " has no end token to put after each row; use --document-end none"));
    check_specials(corpus, rules.task);
    check_room(rules);
}

}  // namespace trireme
