# The image of `npm run image` with the file system tools, for those who build with Docker or BuildKit: docs/image.md.
FROM node:24-bookworm AS build
WORKDIR /berth
COPY . .
# Every file in the image gets this time; the build context has no git history.
ARG SOURCE_DATE_EPOCH=0
RUN npm ci && npm run image -- --root-fs /root.tar \
 && mkdir /image && tar -x -f /root.tar -C /image

FROM scratch
COPY --from=build /image/ /
ENV PATH=/usr/sbin:/usr/bin
ENTRYPOINT ["berth"]
LABEL org.opencontainers.image.title=berth org.opencontainers.image.licenses=Apache-2.0
