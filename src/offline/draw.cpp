#include "offline/draw.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/readable.hpp"
#include "plan/stream_event.hpp"

namespace laneway {

namespace {

/// Text as it stands between tags, and in attributes, of XML.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

constexpr int margin = 24;
// Letters are at least 11 pixels high where a picture of four columns is 800 pixels wide.
constexpr int box_width = 200;
constexpr int box_height = 44;
constexpr int row_height = 54;
constexpr int column_gap = 40;
constexpr int header = 104;
constexpr int rows_in_column = 40;
/// More make a second band below, of what follows the messages between nodes.
constexpr std::size_t columns_in_band = 4;

struct StageStyle {
  Stage stage;
  const char* fill;
  const char* edge;
  const char* note;
};

constexpr std::array<StageStyle, 4> styles = {{
    {Stage::gather, "#e4f3e4", "#2e7d32", "to the ranks that send"},
    {Stage::network, "#fdebd7", "#c25e00", "between nodes"},
    {Stage::scatter, "#e2ecfa", "#1a56a6", "to the final ranks"},
    {Stage::direct, "#efefef", "#555555", "not relayed"},
}};

struct Column {
  const StageStyle* style = nullptr;
  int x = 0;
  std::vector<int> steps;
  int top = header;  ///< of its first box
};

struct Place {
  std::size_t column = 0;
  std::size_t row = 0;
};

std::int64_t copied_bytes(const Step& step) {
  std::int64_t bytes = 0;
  for (const CopyRun& run : step.runs) bytes += run.bytes * run.count;
  return bytes;
}

std::int64_t bytes_of(const Step& step) {
  return is_copy(step) ? copied_bytes(step) : step.span.bytes;
}

std::string headline(const Step& step) {
  switch (step.kind) {
    case StepKind::send:
      return "send to " + std::to_string(step.peer);
    case StepKind::receive:
      return "receive from " + std::to_string(step.peer);
    case StepKind::await:
      return (is_gate(step) ? "await exchange of " : "await word of ") + std::to_string(step.peer);
    case StepKind::raise:
      return "raise word of " + std::to_string(step.peer);
    case StepKind::event:
      return "event " + (is_of_stream(step) ? std::string("of the stream") : std::to_string(step.event)) +
             (step.goes_out ? " goes out" : " comes in");
    case StepKind::move:
      break;
  }
  if (step.raise) return "move to " + std::to_string(step.peer);
  if (step.await) return "move from " + std::to_string(step.peer);
  return std::string(combines(step) ? "combine " : "copy ") + name(step.from.buffer) + " → " + name(step.to.buffer);
}

std::string detail(const Step& step) {
  const std::string bytes = readable_bytes(bytes_of(step));
  if (!is_copy(step))
    return bytes + ", " +
           (step.span.is_scattered() ? std::to_string(step.span.parts().size()) + " parts"
                                     : name(step.span.buffer) + (" + " + std::to_string(step.span.offset)));
  std::int64_t blocks = 0;
  for (const CopyRun& run : step.runs) blocks += run.count;
  return bytes + (blocks == 1 ? " in 1 block" : " in " + std::to_string(blocks) + " blocks");
}

bool is_below(const Column& column) {
  return column.style->stage == Stage::scatter || column.style->stage == Stage::direct;
}

/// Columns of one stage: a step is one to the right of the last step of its stage that it waits for.
std::vector<Column> arrange(const Plan& plan, std::vector<Place>& places) {
  std::vector<int> depth(plan.steps.size(), 0);
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    for (int before : plan.steps[i].after)
      if (const auto b = static_cast<std::size_t>(before); plan.steps[b].stage == plan.steps[i].stage)
        depth[i] = std::max(depth[i], depth[b] + 1);
  std::vector<Column> columns;
  int x = margin;
  for (const StageStyle& style : styles) {
    std::map<int, std::vector<int>> by_depth;
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      if (plan.steps[i].stage == style.stage) by_depth[depth[i]].push_back(static_cast<int>(i));
    for (auto& [level, steps] : by_depth) {
      columns.push_back({&style, x, std::move(steps)});
      x += box_width + column_gap;
    }
  }
  if (columns.size() > columns_in_band) {
    std::size_t rows = 1;
    int lower = margin;
    for (const Column& column : columns)
      if (!is_below(column)) rows = std::max(rows, std::min<std::size_t>(column.steps.size(), rows_in_column));
    for (Column& column : columns) {
      if (!is_below(column)) continue;
      column.x = std::exchange(lower, lower + box_width + column_gap);
      column.top = 2 * header - 30 + static_cast<int>(rows) * row_height;
    }
  }
  places.resize(plan.steps.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    // Near what they wait for, so that arrows cross little.
    std::map<int, double> wanted;
    for (int step : columns[c].steps) {
      const std::vector<int>& after = plan.steps[static_cast<std::size_t>(step)].after;
      double sum = 0;
      for (int before : after) sum += static_cast<double>(places[static_cast<std::size_t>(before)].row);
      wanted[step] =
          after.empty() ? rows_in_column + static_cast<double>(step) : sum / static_cast<double>(after.size());
    }
    std::stable_sort(columns[c].steps.begin(), columns[c].steps.end(),
                     [&](int a, int b) { return wanted[a] < wanted[b]; });
    for (std::size_t row = 0; row < columns[c].steps.size(); ++row)
      places[static_cast<std::size_t>(columns[c].steps[row])] = {c, std::min<std::size_t>(row, rows_in_column - 1)};
  }
  return columns;
}

class Picture {
 public:
  Picture(const Plan& plan, const std::string& title) : plan_(plan), columns_(arrange(plan, places_)) {
    int right = 0, bottom = header + row_height;
    for (const Column& column : columns_) {
      const auto rows = static_cast<int>(std::min<std::size_t>(column.steps.size(), rows_in_column));
      right = std::max(right, column.x + box_width + margin);
      bottom = std::max(bottom, column.top + rows * row_height);
    }
    const int title_width = 2 * margin + static_cast<int>(title.size()) * 9;
    const int width = std::max({520, title_width, right});
    const int height = bottom + margin;
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
         << "\" viewBox=\"0 0 " << width << ' ' << height << "\" font-family=\"Helvetica, Arial, sans-serif\">\n"
         << "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
            "orient=\"auto\"><path d=\"M0,0.5 L8,4 L0,7.5 z\" fill=\"#777777\"/></marker></defs>\n"
         << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    text(margin, 30, 16, "#111111", title, "font-weight=\"bold\"");
    text(margin, 52, 14, "#555555",
         std::to_string(plan.steps.size()) + " steps, staging memory " + readable_bytes(plan.staging_bytes) +
             "; an arrow means: begins when the other is complete");
    headers();
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      for (int before : plan.steps[i].after) arrow(places_[static_cast<std::size_t>(before)], places_[i]);
    for (const Column& column : columns_) boxes(column);
    out_ << "</svg>\n";
  }

  [[nodiscard]] std::string take() const { return out_.str(); }

 private:
  void text(int x, int y, int size, const char* colour, const std::string& words, const char* more = "") {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" font-size=\"" << size << "\" fill=\"" << colour << "\" " << more
         << '>' << escaped(words) << "</text>\n";
  }

  void headers() {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = columns_[c];
      if (c > 0 && columns_[c - 1].style == column.style) continue;
      std::size_t last = c;
      while (last + 1 < columns_.size() && columns_[last + 1].style == column.style) ++last;
      const int end = columns_[last].x + box_width;
      out_ << "<path d=\"M" << column.x << ',' << column.top - 10 << " H" << end << "\" stroke=\"" << column.style->edge
           << "\" stroke-width=\"2\"/>\n";
      text(column.x, column.top - 31, 15, column.style->edge, name(column.style->stage), "font-weight=\"bold\"");
      text(column.x, column.top - 15, 14, column.style->edge, column.style->note);
    }
  }

  [[nodiscard]] static int top(const Column& column, std::size_t row) {
    return column.top + static_cast<int>(row) * row_height;
  }

  void arrow(Place from, Place to) {
    const int x0 = columns_[from.column].x + box_width;
    const int y0 = top(columns_[from.column], from.row) + box_height / 2;
    const int x1 = columns_[to.column].x;
    const int y1 = top(columns_[to.column], to.row) + box_height / 2;
    const int bend = column_gap * 2 / 3;
    out_ << "<path d=\"M" << x0 << ',' << y0 << " C" << x0 + bend << ',' << y0 << ' ' << x1 - bend << ',' << y1 << ' '
         << x1 - 1 << ',' << y1
         << "\" fill=\"none\" stroke=\"#999999\" stroke-width=\"1.1\" marker-end=\"url(#tip)\"/>\n";
  }

  void boxes(const Column& column) {
    const bool cut = column.steps.size() > rows_in_column;
    const std::size_t shown = cut ? rows_in_column - 1 : column.steps.size();
    for (std::size_t row = 0; row < shown; ++row) {
      const Step& step = plan_.steps[static_cast<std::size_t>(column.steps[row])];
      box(column, row, headline(step), detail(step), "#" + std::to_string(column.steps[row]), is_copy(step));
    }
    if (!cut) return;
    std::int64_t bytes = 0;
    for (std::size_t row = shown; row < column.steps.size(); ++row)
      bytes += bytes_of(plan_.steps[static_cast<std::size_t>(column.steps[row])]);
    box(column, shown, "and " + std::to_string(column.steps.size() - shown) + " more", readable_bytes(bytes), "", true);
  }

  void box(const Column& column, std::size_t row, const std::string& first, const std::string& second,
           const std::string& number, bool dashed) {
    const int y = top(column, row);
    out_ << "<rect x=\"" << column.x << "\" y=\"" << y << "\" width=\"" << box_width << "\" height=\"" << box_height
         << "\" rx=\"5\" fill=\"" << (dashed ? "#ffffff" : column.style->fill) << "\" stroke=\"" << column.style->edge
         << "\" stroke-width=\"1.2\"" << (dashed ? " stroke-dasharray=\"4 3\"" : "") << "/>\n";
    text(column.x + 9, y + 18, 14, "#111111", first, "font-weight=\"bold\"");
    text(column.x + 9, y + 36, 14, "#444444", second);
    text(column.x + box_width - 7, y + 36, 14, "#666666", number, "text-anchor=\"end\"");
  }

  const Plan& plan_;
  std::vector<Place> places_;
  std::vector<Column> columns_;
  std::ostringstream out_;
};

constexpr int rank_height = 26;
constexpr int node_gap = 22;
constexpr int stage_width = 220;
constexpr int left_margin = 84;
constexpr int messages_header = 112;

class Messages {
 public:
  Messages(std::span<const Plan> plans, std::span<const int> node_of, const std::string& title) : node_of_(node_of) {
    collect(plans);
    place();
    const int width = std::max(x(last_column_) + 2 * margin, 2 * margin + static_cast<int>(title.size()) * 8);
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << bottom_
         << "\" viewBox=\"0 0 " << width << ' ' << bottom_ << "\" font-family=\"Helvetica, Arial, sans-serif\">\n"
         << "<style>.line{fill:none;stroke-opacity:0.75}.gather{stroke:#2e7d32}.network{stroke:#e08a3a}"
            ".scatter{stroke:#1a56a6}.direct{stroke:#999999}.first{stroke:#7a2e00}</style>\n"
         << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    text(margin, 28, 14, "#111111", title, "font-weight=\"bold\"");
    text(margin, 46, 12, "#555555",
         relays_ ? "a row is a rank, a line the messages of a stage from one to another, wider for more bytes"
                 : "a line: messages from one rank to another; orange: between nodes; dark: what a rank starts first");
    headers();
    bands();
    for (const auto& [key, line] : lines_) draw(key, line);
    dots();
    out_ << "</svg>\n";
  }

  [[nodiscard]] std::string take() const { return out_.str(); }

 private:
  struct Key {
    Stage stage;
    Rank from;
    Rank to;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Line {
    std::int64_t bytes = 0;
    bool first = false;
  };
  struct Total {
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
  };

  void collect(std::span<const Plan> plans) {
    for (const Plan& plan : plans) {
      bool first = true;
      for (const Step& step : plan.steps) {
        if (!sends(step)) continue;
        Line& line = lines_[{step.stage, plan.rank, step.peer}];
        line.bytes += step.span.bytes;
        line.first = line.first || (first && step.stage == Stage::direct);
        most_ = std::max(most_, line.bytes);
        Total& total = totals_[step.stage];
        total.messages += 1;
        total.bytes += step.span.bytes;
        relays_ = relays_ || step.stage != Stage::direct;
        first = false;
      }
    }
    last_column_ = relays_ ? 3 : 1;
  }

  void place() {
    std::map<int, std::vector<Rank>> nodes;
    for (std::size_t r = 0; r < node_of_.size(); ++r) nodes[node_of_[r]].push_back(static_cast<Rank>(r));
    y_.resize(node_of_.size());
    int y = messages_header + rank_height;
    for (const auto& [node, ranks] : nodes) {
      bands_.push_back({node, {y - rank_height / 2 - 4, y + rank_height * static_cast<int>(ranks.size()) - 9}});
      for (Rank rank : ranks) {
        y_[static_cast<std::size_t>(rank)] = y;
        y += rank_height;
      }
      y += node_gap;
    }
    bottom_ = y;
  }

  [[nodiscard]] int x(int column) const { return left_margin + column * (relays_ ? stage_width : 2 * stage_width); }

  void text(int x, int y, int size, const char* colour, const std::string& words, const char* more = "") {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" font-size=\"" << size << "\" fill=\"" << colour << "\" " << more
         << '>' << escaped(words) << "</text>\n";
  }

  /// Direct messages go from the first column to the last, whatever is between.
  [[nodiscard]] int first_column(Stage stage) const {
    return stage == Stage::network ? 1 : stage == Stage::scatter ? 2 : 0;
  }
  [[nodiscard]] int end_column(Stage stage) const {
    return stage == Stage::direct ? last_column_ : first_column(stage) + 1;
  }

  void headers() {
    for (const StageStyle& style : styles) {
      const Total total = totals_[style.stage];
      if (style.stage != Stage::direct && !relays_) continue;
      if (style.stage == Stage::direct && total.messages == 0) continue;
      const bool below = style.stage == Stage::direct && relays_;
      const std::string words = std::to_string(total.messages) + (total.messages == 1 ? " message, " : " messages, ") +
                                readable_bytes(total.bytes);
      if (below) {
        text(margin, 64, 12, style.edge, std::string("not relayed (grey): ") + words);
        continue;
      }
      const int at = x(first_column(style.stage)) + 14;
      text(at, messages_header - 24, 13, style.edge, name(style.stage), "font-weight=\"bold\"");
      text(at, messages_header - 8, 12, style.edge, words);
    }
  }

  void bands() {
    for (const auto& [node, band] : bands_) {
      out_ << "<rect x=\"" << margin / 2 << "\" y=\"" << band.first << "\" width=\"" << x(last_column_) + margin
           << "\" height=\"" << band.second - band.first << "\" rx=\"6\" fill=\"#f4f4f4\"/>\n";
      text(margin - 4, (band.first + band.second) / 2 + 4, 12, "#555555", "node " + std::to_string(node));
    }
  }

  void draw(const Key& key, const Line& line) {
    const int x0 = x(first_column(key.stage));
    const int x1 = x(end_column(key.stage));
    const int y0 = y_[static_cast<std::size_t>(key.from)];
    const int y1 = y_[static_cast<std::size_t>(key.to)];
    const bool crosses = node_of_[static_cast<std::size_t>(key.from)] != node_of_[static_cast<std::size_t>(key.to)];
    const char* style = !relays_ && line.first                  ? "first"
                        : key.stage == Stage::direct && crosses ? "network"
                                                                : name(key.stage);
    const int widest = relays_ ? 40 : 18;
    const double share = static_cast<double>(line.bytes) / static_cast<double>(std::max<std::int64_t>(most_, 1));
    const int tenths = 8 + static_cast<int>((widest - 8) * share);
    const int bend = (x1 - x0) * 2 / 5;
    out_ << "<path class=\"line " << style << "\" d=\"M" << x0 << ',' << y0 << " C" << x0 + bend << ',' << y0 << ' '
         << x1 - bend << ',' << y1 << ' ' << x1 << ',' << y1 << "\" stroke-width=\"" << tenths / 10 << '.'
         << tenths % 10 << "\"/>\n";
  }

  void dots() {
    for (int column = 0; column <= last_column_; ++column)
      for (std::size_t r = 0; r < y_.size(); ++r) {
        out_ << "<circle cx=\"" << x(column) << "\" cy=\"" << y_[r]
             << "\" r=\"10\" fill=\"#ffffff\" stroke=\"#555555\"/>\n";
        text(x(column), y_[r] + 4, 11, "#111111", std::to_string(r), "text-anchor=\"middle\"");
      }
  }

  std::span<const int> node_of_;
  std::map<Key, Line> lines_;
  std::map<Stage, Total> totals_;
  std::vector<int> y_;
  std::vector<std::pair<int, std::pair<int, int>>> bands_;
  std::int64_t most_ = 0;
  bool relays_ = false;
  int last_column_ = 1;
  int bottom_ = 0;
  std::ostringstream out_;
};

}  // namespace

std::string stacked(const std::string& upper, const std::string& lower) {
  const auto number = [](const std::string& picture, const std::string& key) {
    const std::size_t at = picture.find(key);
    return at == std::string::npos ? 0 : std::atoi(picture.c_str() + at + key.size());
  };
  const int shift = number(upper, " height=\"");
  const int height = shift + number(lower, " height=\"");
  const int width = std::max(number(upper, " width=\""), number(lower, " width=\""));
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
      << "\" viewBox=\"0 0 " << width << ' ' << height << "\">\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      << upper << "<g transform=\"translate(0 " << shift << ")\">\n"
      << lower << "</g>\n</svg>\n";
  return out.str();
}

std::string to_svg(const Plan& plan, const std::string& title) {
  return Picture(plan, title).take();
}

std::string to_svg(std::span<const Plan> plans, std::span<const int> node_of, const std::string& title) {
  return Messages(plans, node_of, title).take();
}

}  // namespace laneway
