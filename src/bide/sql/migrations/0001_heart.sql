-- The heart. While nothing is released this is the whole schema, whatever it is today; at the first release its text
-- takes the place of the line below, and is never changed again.
{{schema}}
